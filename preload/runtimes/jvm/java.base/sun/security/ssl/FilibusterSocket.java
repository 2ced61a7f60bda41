package sun.security.ssl;

import filibuster.Tls;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.net.SocketException;
import java.nio.ByteBuffer;

/** What SSLSocketImpl is edited to call. */
final class FilibusterSocket {
    private static final int EPIPE = 32, ECONNRESET = 104;

    private FilibusterSocket() {}

    /** SSLSocketImpl.decode begins: the next record is read. */
    static void handshaking(SSLSocketImpl socket) {
        if (socket.conContext.isNegotiated) return;
        FilibusterTls tls = FilibusterTls.of(socket.conContext);
        if (tls != null && !tls.joined) tls.join(socket.conContext);
    }

    /** In the place of OutputRecord.deliver, for what the application writes. */
    static void deliver(OutputRecord record, byte[] bytes, int first, int size) throws IOException {
        FilibusterTls tls = FilibusterTls.find(record);
        if (tls == null || !tls.joined) {
            record.deliver(bytes, first, size);
            return;
        }
        for (int done = 0; done < size; ) {
            byte[] part = java.util.Arrays.copyOfRange(bytes, first + done, first + done + Math.min(size - done, FilibusterTls.RECORD));
            Deliver call = new Deliver(tls, record);
            int taken = Tls.write(tls.session, call, part);
            if (call.thrown != null) FilibusterTls.<RuntimeException>raise(call.thrown);
            if (taken < 0) throw ended(-taken);
            done += taken;
        }
    }

    private static SocketException ended(int error) {
        return new SocketException(error == EPIPE ? "Broken pipe" : error == ECONNRESET ? "Connection reset" : "Socket closed");
    }

    private static final class Deliver extends FilibusterCall {
        private final FilibusterTls tls;
        private final OutputRecord record;

        Deliver(FilibusterTls tls, OutputRecord record) {
            this.tls = tls;
            this.record = record;
        }

        int put(byte[] data, boolean clear) {
            try {
                if (clear) {
                    OutputStream to = tls.deliverer;
                    if (to == null) to = (OutputStream) FilibusterTls.DELIVERER.invokeExact((SSLSocketOutputRecord) record);
                    to.write(data, 0, data.length);
                } else {
                    record.deliver(data, 0, data.length);
                }
                return data.length;
            } catch (Throwable problem) {
                thrown = problem;
                return -1;
            }
        }

        int get(boolean clear, int skipped) {
            return -2;
        }

        FilibusterPumped pumped() {
            try {
                SSLSocketImpl socket = tls.socket();
                if (socket == null) return null;
                tls.receiver = (InputStream) FilibusterTls.RECEIVER.invokeExact((SSLSocketInputRecord) socket.conContext.inputRecord);
                tls.deliverer = (OutputStream) FilibusterTls.DELIVERER.invokeExact((SSLSocketOutputRecord) record);
                return new FilibusterPumpedSocket(tls, socket);
            } catch (Throwable problem) {
                return null;
            }
        }
    }

    /** In the place of SSLSocketImpl.readApplicationRecord. Null: the end. */
    static ByteBuffer read(SSLSocketImpl socket, ByteBuffer buffer) throws IOException {
        FilibusterTls tls = FilibusterTls.of(socket.conContext);
        Receive call = new Receive(tls, socket, buffer);
        if (tls == null || !tls.joined) {
            call.get(false, 0);
        } else {
            int error = Tls.read(tls.session, call, buffer.capacity());
            if (error != 0 && call.thrown == null) throw ended(-error);
        }
        if (call.thrown != null) FilibusterTls.<RuntimeException>raise(call.thrown);
        return call.received;
    }

    private static final class Receive extends FilibusterCall {
        private final FilibusterTls tls;
        private final SSLSocketImpl socket;
        private final ByteBuffer buffer;
        ByteBuffer received;

        Receive(FilibusterTls tls, SSLSocketImpl socket, ByteBuffer buffer) {
            this.tls = tls;
            this.socket = socket;
            this.buffer = buffer;
        }

        int put(byte[] data, boolean clear) {
            return -1;
        }

        int get(boolean clear, int skipped) {
            thrown = null;
            received = null;
            try {
                received = clear ? copy() : (ByteBuffer) FilibusterTls.READ_APPLICATION_RECORD.invokeExact(socket, buffer);
                if (received == null) return 0;
                bytes = java.util.Arrays.copyOf(received.array(), received.position());
                return bytes.length;
            } catch (InterruptedIOException timeout) {
                thrown = timeout;
                return -1;
            } catch (Throwable problem) {
                thrown = problem;
                return -2;
            }
        }

        private ByteBuffer copy() throws Throwable {
            InputStream from = tls.receiver;
            if (from == null) from = (InputStream) FilibusterTls.RECEIVER.invokeExact((SSLSocketInputRecord) socket.conContext.inputRecord);
            buffer.clear();
            int size = from.read(buffer.array(), 0, buffer.capacity());
            return size < 0 ? null : buffer.position(size);
        }
    }
}
