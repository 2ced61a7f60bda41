package sun.security.ssl;

import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;

/** A socket that a thread of the library uses. */
final class FilibusterPumpedSocket extends FilibusterPumped {
    private final SSLSocketImpl socket;
    private final FilibusterTls tls;
    private ByteBuffer room = ByteBuffer.allocate(0);

    FilibusterPumpedSocket(FilibusterTls tls, SSLSocketImpl socket) {
        this.tls = tls;
        this.socket = socket;
        OutputStream to = new OutputStream() {
            public void write(int one) {
                write(new byte[] {(byte) one}, 0, 1);
            }

            public void write(byte[] data, int first, int size) {
                out.write(data, first, size);
            }
        };
        use(in, to);
    }

    private void use(InputStream from, OutputStream to) {
        TransportContext context = socket.conContext;
        context.inputRecord.setReceiverStream(from);
        context.inputRecord.setDeliverStream(to);
        context.outputRecord.setDeliverStream(to);
    }

    void abandon() {
        use(tls.receiver, tls.deliverer);
    }

    ByteBuffer decrypt() throws Throwable {
        if (!in.hasRecord()) return ByteBuffer.allocate(0);
        try {
            ByteBuffer got = (ByteBuffer) FilibusterTls.READ_APPLICATION_RECORD.invokeExact(socket, room);
            if (got == null) return null;
            room = got;
            return got.flip();
        } catch (InterruptedIOException nothing) {
            return ByteBuffer.allocate(0);
        }
    }

    int encrypt(byte[] data) throws IOException {
        socket.conContext.outputRecord.deliver(data, 0, data.length);
        return data.length;
    }

    void end() {
        socket.conContext.warning(Alert.CLOSE_NOTIFY);
    }
}
