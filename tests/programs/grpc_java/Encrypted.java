import io.grpc.ManagedChannelBuilder;
import io.grpc.ServerBuilder;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.NettyServerBuilder;
import io.netty.handler.ssl.JdkAlpn;
import java.nio.file.Path;

/** Channels and servers: over the JDK's TLS if the environment variable TLS names the folder of a certificate. */
final class Encrypted {
    private static final String FOLDER = System.getenv("TLS");

    private Encrypted() {}

    static ManagedChannelBuilder<?> channel(String port) {
        int number = Integer.parseInt(port);
        if (FOLDER == null) return ManagedChannelBuilder.forAddress("127.0.0.1", number).usePlaintext();
        try {
            return NettyChannelBuilder.forAddress("localhost", number).sslContext(JdkAlpn.of(Certificates.client(), true));
        } catch (Exception problem) {
            throw new IllegalStateException(problem);
        }
    }

    static ServerBuilder<?> server(String port) throws Exception {
        int number = Integer.parseInt(port);
        if (FOLDER == null) return ServerBuilder.forPort(number);
        return NettyServerBuilder.forPort(number).sslContext(JdkAlpn.of(Certificates.server(Path.of(FOLDER)), false));
    }
}
