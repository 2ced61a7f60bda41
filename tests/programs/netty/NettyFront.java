import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import io.netty.handler.timeout.ReadTimeoutHandler;
import java.io.File;
import java.net.URI;

/**
 * As tests/programs/java/Front.java, with Netty on the JDK's TLS, as server and as client: NettyFront PORT DIRECTORY. All is done
 * by one event loop.
 */
public class NettyFront {
  private static final int MOST = 1 << 20;

  private static FullHttpResponse answer(HttpResponseStatus status, ByteBuf body) {
    FullHttpResponse made = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, status, body);
    made.headers().set(HttpHeaderNames.CONTENT_LENGTH, body.readableBytes());
    return made;
  }

  /** Passes the answer of the service behind on, and what goes wrong as 503. */
  private static final class Back extends SimpleChannelInboundHandler<FullHttpResponse> {
    private final Channel caller;
    private boolean answered;

    Back(Channel caller) {
      this.caller = caller;
    }

    private void tell(ChannelHandlerContext context, HttpResponseStatus status, ByteBuf body) {
      if (!answered) caller.writeAndFlush(answer(status, body));
      answered = true;
      context.close();
    }

    @Override
    protected void channelRead0(ChannelHandlerContext context, FullHttpResponse got) {
      tell(context, got.status(), got.content().copy());
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
      tell(context, HttpResponseStatus.SERVICE_UNAVAILABLE, Unpooled.EMPTY_BUFFER);
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable problem) {
      tell(context, HttpResponseStatus.SERVICE_UNAVAILABLE, Unpooled.EMPTY_BUFFER);
    }
  }

  private static void ask(Channel caller, URI back, String path, SslContext trust) {
    new Bootstrap().group(caller.eventLoop()).channel(NioSocketChannel.class).handler(new ChannelInitializer<SocketChannel>() {
      @Override
      protected void initChannel(SocketChannel channel) {
        channel.pipeline().addLast(trust.newHandler(channel.alloc(), back.getHost(), back.getPort()), new ReadTimeoutHandler(1),
            new HttpClientCodec(), new HttpObjectAggregator(MOST), new Back(caller));
      }
    }).connect(back.getHost(), back.getPort()).addListener((ChannelFutureListener) connected -> {
      if (!connected.isSuccess()) {
        caller.writeAndFlush(answer(HttpResponseStatus.SERVICE_UNAVAILABLE, Unpooled.EMPTY_BUFFER));
        return;
      }
      FullHttpRequest request = new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.GET, path);
      request.headers().set(HttpHeaderNames.HOST, back.getHost());
      connected.channel().writeAndFlush(request);
    });
  }

  public static void main(String[] arguments) throws Exception {
    File directory = new File(arguments[1]);
    SslContext own = SslContextBuilder.forServer(new File(directory, "cert.pem"), new File(directory, "key.pem"))
        .sslProvider(SslProvider.JDK).build();
    SslContext trust = SslContextBuilder.forClient().trustManager(new File(System.getenv("SSL_CERT_FILE")))
        .sslProvider(SslProvider.JDK).build();
    URI back = URI.create(System.getenv("BACK"));
    new ServerBootstrap().group(new NioEventLoopGroup(1)).channel(NioServerSocketChannel.class)
        .childHandler(new ChannelInitializer<SocketChannel>() {
          @Override
          protected void initChannel(SocketChannel channel) {
            channel.pipeline().addLast(own.newHandler(channel.alloc()), new HttpServerCodec(), new HttpObjectAggregator(MOST),
                new SimpleChannelInboundHandler<FullHttpRequest>() {
                  @Override
                  protected void channelRead0(ChannelHandlerContext context, FullHttpRequest request) {
                    ask(context.channel(), back, request.uri(), trust);
                  }

                  @Override
                  public void exceptionCaught(ChannelHandlerContext context, Throwable problem) {
                    context.close();
                  }
                });
          }
        }).bind("127.0.0.1", Integer.parseInt(arguments[0])).sync();
  }
}
