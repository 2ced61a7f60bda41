import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import io.netty.handler.timeout.ReadTimeoutHandler;
import java.io.File;
import java.net.URI;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32;

/**
 * NettyAsk URL PATH...: gets each path, one after the other, on one connection as long as it is open, and prints what came of each:
 * status, length and checksum of the body, or how it failed. https is on the JDK's TLS.
 */
public class NettyAsk {
  private static final int MOST = 8 << 20, PATIENCE_S = 2;

  private static final class Answers extends SimpleChannelInboundHandler<FullHttpResponse> {
    volatile CompletableFuture<String> waits = new CompletableFuture<>();
    volatile boolean ends;

    @Override
    protected void channelRead0(ChannelHandlerContext context, FullHttpResponse got) {
      if (got.decoderResult().isFailure()) {
        exceptionCaught(context, got.decoderResult().cause());
        return;
      }
      ends = !HttpUtil.isKeepAlive(got);
      byte[] body = new byte[got.content().readableBytes()];
      got.content().readBytes(body);
      CRC32 sum = new CRC32();
      sum.update(body);
      waits.complete(got.status().code() + " " + body.length + " " + Long.toHexString(sum.getValue()));
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) throws Exception {
      super.channelInactive(context);
      ends = true;
      waits.complete("closed");
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable problem) {
      ends = true;
      waits.complete(problem.getClass().getName() + ": " + problem.getMessage());
      context.close();
    }
  }

  public static void main(String[] arguments) throws Exception {
    URI url = URI.create(arguments[0]);
    SslContext trust = !url.getScheme().equals("https") ? null
        : SslContextBuilder.forClient().trustManager(new File(System.getenv("SSL_CERT_FILE"))).sslProvider(SslProvider.JDK).build();
    NioEventLoopGroup loop = new NioEventLoopGroup(1);
    Channel channel = null;
    Answers answers = null;
    for (int i = 1; i < arguments.length; i++) {
      if (channel == null || !channel.isActive()) {
        Answers made = answers = new Answers();
        channel = new Bootstrap().group(loop).channel(NioSocketChannel.class).handler(new ChannelInitializer<SocketChannel>() {
          @Override
          protected void initChannel(SocketChannel opened) {
            if (trust != null) opened.pipeline().addLast(trust.newHandler(opened.alloc(), url.getHost(), url.getPort()));
            opened.pipeline().addLast(new ReadTimeoutHandler(PATIENCE_S), new HttpClientCodec(), new HttpObjectAggregator(MOST), made);
          }
        }).connect(url.getHost(), url.getPort()).sync().channel();
      }
      answers.waits = new CompletableFuture<>();
      DefaultFullHttpRequest request = new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.GET, arguments[i]);
      request.headers().set(HttpHeaderNames.HOST, url.getHost());
      CompletableFuture<String> waits = answers.waits;
      channel.writeAndFlush(request).addListener(sent -> {
        if (!sent.isSuccess()) waits.complete("not sent: " + sent.cause().getClass().getName());
      });
      String told = waits.get();
      System.out.println(arguments[i] + " " + told);
      // An answer that ends the connection ends it before the next request.
      if (answers.ends) channel.closeFuture().sync();
    }
    loop.shutdownGracefully(0, 0, TimeUnit.SECONDS).sync();
  }
}
