import com.google.common.io.ByteStreams;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerBuilder;
import io.grpc.ServerServiceDefinition;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;

/**
 * Gateway PORT DIRECT BACK PAGES: calls.Calls, and matrix.Web, whose messages are texts. On PORT a pool of threads
 * serves, on DIRECT the event loop.
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

    public static void main(String[] arguments) throws Exception {
        String pooled = arguments[0], direct = arguments[1], back = arguments[2], pages = arguments[3];
        Web web = new Web(channel(back), channel(pooled), pages);
        Server server = ServerBuilder.forPort(Integer.parseInt(pooled))
            .addService(new CallsService()).addService(texts(web, back)).build().start();
        ServerBuilder.forPort(Integer.parseInt(direct)).directExecutor()
            .addService(texts(new Web(channel(back), channel(direct), pages), back)).build().start();
        if (System.getenv("BEAT") != null) web.beat();
        System.out.println("serving");
        server.awaitTermination();
    }
}
