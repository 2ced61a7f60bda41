import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.netty.GrpcHttp2ConnectionHandler;
import io.grpc.netty.InternalNettyChannelBuilder;
import io.grpc.netty.InternalProtocolNegotiator;
import io.grpc.netty.InternalProtocolNegotiators;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import io.netty.channel.ChannelHandler;
import io.netty.util.AsciiString;
import java.util.ArrayList;
import java.util.List;

/**
 * Which x-filibuster fields the application sees. Fields serve PORT prints those of each call. Fields ask PORT SCHEME (http, https,
 * okhttp, tls) makes two calls, and prints what its interceptors see.
 */
final class Fields {
    private static final Metadata.Key<String> FIELD = Metadata.Key.of("x-filibuster", Metadata.ASCII_STRING_MARSHALLER);

    private Fields() {}

    private static String of(Metadata headers) {
        List<String> values = new ArrayList<>();
        if (headers.containsKey(FIELD)) headers.getAll(FIELD).forEach(values::add);
        return String.join(" ", values);
    }

    private static final class Seeing implements ServerInterceptor {
        public <Q, A> ServerCall.Listener<Q> interceptCall(ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
            System.out.println("served: " + of(headers));
            return next.startCall(call, headers);
        }
    }

    private static final class Looking implements ClientInterceptor {
        public <Q, A> ClientCall<Q, A> interceptCall(MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
            return new ForwardingClientCall.SimpleForwardingClientCall<Q, A>(next.newCall(method, options)) {
                @Override
                public void start(Listener<A> listener, Metadata headers) {
                    System.out.println("asked: " + of(headers));
                    super.start(listener, headers);
                }
            };
        }
    }

    /** Says of a channel that it is encrypted, and does nothing: by a TLS that is not the JDK's, it could be. */
    private static final class Pretending implements InternalProtocolNegotiator.ProtocolNegotiator {
        private final InternalProtocolNegotiator.ProtocolNegotiator plain = InternalProtocolNegotiators.plaintext();

        public AsciiString scheme() {
            return AsciiString.of("https");
        }

        public ChannelHandler newHandler(GrpcHttp2ConnectionHandler handler) {
            return plain.newHandler(handler);
        }

        public void close() {
            plain.close();
        }
    }

    private static final class Factory implements InternalProtocolNegotiator.ClientFactory {
        public InternalProtocolNegotiator.ProtocolNegotiator newNegotiator() {
            return new Pretending();
        }

        public int getDefaultPort() {
            return 443;
        }
    }

    public static void main(String[] arguments) throws Exception {
        int port = Integer.parseInt(arguments[1]);
        if (arguments[0].equals("serve")) {
            Server server = Encrypted.server(arguments[1]).intercept(new Seeing()).addService(
                ServerServiceDefinition.builder("matrix.Web").addMethod(Gateway.GET, ServerCalls.asyncUnaryCall(
                    (String message, StreamObserver<String> answer) -> {
                        answer.onNext(message);
                        answer.onCompleted();
                    })).build()).build().start();
            System.out.println("serving");
            server.awaitTermination();
            return;
        }
        NettyChannelBuilder builder = NettyChannelBuilder.forAddress("127.0.0.1", port).usePlaintext().intercept(new Looking());
        if (arguments[2].equals("tls")) builder = (NettyChannelBuilder) Encrypted.channel(arguments[1]).intercept(new Looking());
        if (arguments[2].equals("okhttp")) Class.forName("io.grpc.okhttp.OkHttpChannelBuilder");
        if (arguments[2].equals("https")) InternalNettyChannelBuilder.setProtocolNegotiatorFactory(builder, new Factory());
        ManagedChannel channel = builder.build();
        // Once while the channel is opened, once when it is there.
        for (String message : List.of("first", "second")) {
            System.out.println(ClientCalls.blockingUnaryCall(channel, Gateway.GET, CallOptions.DEFAULT, message)); // site asked
        }
        channel.shutdownNow();
    }
}
