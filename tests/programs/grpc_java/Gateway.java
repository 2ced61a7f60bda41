import com.google.common.io.ByteStreams;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerBuilder;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;

/**
 * Gateway PORT DIRECT FRONT BACK PAGES: calls.Calls, and matrix.Web, whose messages are texts. On PORT a pool of threads
 * serves, on DIRECT the event loop. On FRONT the same for HTTP: GET /KIND/ID for "@/KIND/ID@", by a channel that all with
 * the same first number in ID open together.
 *
 * "@/KIND/...@" is answered with itself, after calls of BACK (gRPC) or PAGES (HTTP) in the way KIND: Web.java. Anything
 * else is a command, answered with what came of it: Commands.java.
 */
final class Gateway {
    static final MethodDescriptor<String, String> GET = method("Get", MethodDescriptor.MethodType.UNARY);
    static final MethodDescriptor<String, String> LIST = method("List", MethodDescriptor.MethodType.SERVER_STREAMING);
    static final MethodDescriptor<String, String> TALK = method("Talk", MethodDescriptor.MethodType.BIDI_STREAMING);

    private Gateway() {}

    private static final class Text implements MethodDescriptor.Marshaller<String> {
        public InputStream stream(String value) {
            return new ByteArrayInputStream(value.getBytes(StandardCharsets.UTF_8));
        }

        public String parse(InputStream stream) {
            try {
                return new String(ByteStreams.toByteArray(stream), StandardCharsets.UTF_8);
            } catch (IOException problem) {
                throw new IllegalStateException(problem);
            }
        }
    }

    static final Metadata.Key<String> FIELD = Metadata.Key.of("x-filibuster", Metadata.ASCII_STRING_MARSHALLER);
    static final Context.Key<String> CAME_IN = Context.key("field");

    /** Keeps our field of a call that came in, as programs do that forward fields for tracing. */
    private static final class Forwarding implements ServerInterceptor {
        public <Q, A> ServerCall.Listener<Q> interceptCall(ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
            return Contexts.interceptCall(Context.current().withValue(CAME_IN, headers.get(FIELD)), call, headers, next);
        }
    }

    private static MethodDescriptor<String, String> method(String name, MethodDescriptor.MethodType type) {
        return MethodDescriptor.<String, String>newBuilder().setType(type).setFullMethodName("matrix.Web/" + name)
            .setRequestMarshaller(new Text()).setResponseMarshaller(new Text()).build();
    }

    static ManagedChannel channel(String port) {
        return ManagedChannelBuilder.forAddress("127.0.0.1", Integer.parseInt(port)).usePlaintext().build();
    }

    private static ServerServiceDefinition texts(Web web, String back) {
        return ServerServiceDefinition.builder("matrix.Web")
            .addMethod(GET, ServerCalls.asyncUnaryCall((String message, StreamObserver<String> answer) -> {
                if (message.startsWith("@")) {
                    web.answer(message, answer);
                    return;
                }
                answer.onNext(Commands.run(message.split(" "), back));
                answer.onCompleted();
            }))
            .build();
    }

    /** Answers GET with the path. */
    private static final class Response implements StreamObserver<String> {
        private final HttpExchange exchange;

        Response(HttpExchange exchange) {
            this.exchange = exchange;
        }

        private void end(int status) {
            try {
                exchange.sendResponseHeaders(status, -1);
            } catch (IOException problem) {
                // Nobody waits for it.
            }
            exchange.close();
        }

        public void onNext(String message) {}

        public void onError(Throwable problem) {
            end(502);
        }

        public void onCompleted() {
            end(200);
        }
    }

    private static void serveHttp(String port, String back, String own, String pages) throws IOException {
        ConcurrentHashMap<String, Web> webs = new ConcurrentHashMap<>();
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(port)), 64);
        server.setExecutor(Executors.newCachedThreadPool());
        server.createContext("/", exchange -> {
            String path = exchange.getRequestURI().getPath();
            Web web = webs.computeIfAbsent(path.split("-")[0], any -> new Web(channel(back), channel(own), pages));
            web.answer("@" + path + "@", new Response(exchange));
        });
        server.start();
    }

    public static void main(String[] arguments) throws Exception {
        String pooled = arguments[0], direct = arguments[1], back = arguments[3], pages = arguments[4];
        Web web = new Web(channel(back), channel(pooled), pages);
        Server server = ServerBuilder.forPort(Integer.parseInt(pooled))
            .addService(new CallsService()).addService(texts(web, back)).intercept(new Forwarding()).build().start();
        ServerBuilder.forPort(Integer.parseInt(direct)).directExecutor()
            .addService(texts(new Web(channel(back), channel(direct), pages), back)).build().start();
        serveHttp(arguments[2], back, pooled, pages);
        if (System.getenv("BEAT") != null) web.beat();  // it is calling when the session begins
        System.out.println("serving");
        server.awaitTermination();
    }
}
