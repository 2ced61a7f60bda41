package sun.security.ssl;

import filibuster.Tls;
import java.io.IOException;
import java.lang.invoke.MethodHandle;
import java.nio.ByteBuffer;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;
import javax.net.ssl.SSLEngineResult.Status;
import javax.net.ssl.SSLException;

/** What SSLEngineImpl is edited to call. */
final class FilibusterEngine {
    private FilibusterEngine() {}

    static SSLEngineResult original(MethodHandle method, SSLEngineImpl engine, ByteBuffer[] from, int first, int count,
                                            ByteBuffer[] to, int firstTo, int countTo) throws IOException {
        try {
            return (SSLEngineResult) method.invokeExact(engine, from, first, count, to, firstTo, countTo);
        } catch (Throwable thrown) {
            FilibusterTls.<RuntimeException>raise(thrown);
            return null;
        }
    }

    /** In the place of SSLEngineImpl.writeRecord. */
    static SSLEngineResult wrap(SSLEngineImpl engine, ByteBuffer[] from, int first, int count, ByteBuffer[] to, int firstTo,
                                int countTo) throws IOException {
        TransportContext context = engine.conContext;
        FilibusterTls tls = FilibusterTls.of(context);
        if (tls == null) return original(FilibusterTls.WRITE_RECORD, engine, from, first, count, to, firstTo, countTo);
        if (!tls.joined) tls.join(context);
        boolean carriesData = tls.joined && context.isNegotiated && !context.needHandshakeFinishedStatus && !context.isOutboundClosed();
        int size = carriesData ? FilibusterTls.remaining(from, first, count) : 0;
        if (size == 0) {
            if (tls.joined && Tls.diverted(tls.session)) return drain(tls, engine, from);
            ByteBuffer[] made = FilibusterTls.before(to, firstTo, countTo);
            SSLEngineResult result = original(FilibusterTls.WRITE_RECORD, engine, from, first, count, to, firstTo, countTo);
            if (result.bytesProduced() > 0) Tls.produced(tls.session, FilibusterTls.peek(made, 0, countTo, result.bytesProduced()));
            return result;
        }
        Wrap call = new Wrap(tls, engine, to, firstTo, countTo);
        byte[] data = FilibusterTls.peek(from, first, count, Math.min(size, FilibusterTls.RECORD));
        int taken = Tls.write(tls.session, call, data);
        if (call.thrown != null) FilibusterTls.<RuntimeException>raise(call.thrown);
        if (taken < 0) throw new SSLException("the connection has ended: errno " + -taken);
        FilibusterTls.skip(from, first, count, taken);
        if (taken > 0 && call.produced == 0) {
            // A fault has taken them. Some applications write on only when they have sent something.
            call.produced = FilibusterTls.fill(to, firstTo, countTo, java.util.Arrays.copyOf(data, taken));
            Tls.swallowed(tls.session, call.produced);
        }
        return new SSLEngineResult(call.status, call.handshake, taken, call.produced);
    }

    /** What an engine says for itself (alerts) has no place among bytes in the clear. */
    private static SSLEngineResult drain(FilibusterTls tls, SSLEngineImpl engine, ByteBuffer[] from) throws IOException {
        if (tls.pumped) {
            Status status = engine.conContext.isOutboundClosed() ? Status.CLOSED : Status.OK;
            return new SSLEngineResult(status, HandshakeStatus.NOT_HANDSHAKING, 0, 0);
        }
        ByteBuffer[] nowhere = {ByteBuffer.allocate(engine.conContext.conSession.getPacketBufferSize())};
        SSLEngineResult result = original(FilibusterTls.WRITE_RECORD, engine, from, 0, 0, nowhere, 0, 1);
        boolean closed = result.getStatus() == Status.CLOSED;
        return new SSLEngineResult(closed ? Status.CLOSED : Status.OK, HandshakeStatus.NOT_HANDSHAKING, 0, 0);
    }

    private static final class Wrap extends FilibusterCall {
        private final FilibusterTls tls;
        private final SSLEngineImpl engine;
        private final ByteBuffer[] to;
        private final int firstTo, countTo;
        Status status = Status.OK;
        HandshakeStatus handshake = HandshakeStatus.NOT_HANDSHAKING;
        int produced;

        Wrap(FilibusterTls tls, SSLEngineImpl engine, ByteBuffer[] to, int firstTo, int countTo) {
            this.tls = tls;
            this.engine = engine;
            this.to = to;
            this.firstTo = firstTo;
            this.countTo = countTo;
        }

        int put(byte[] data, boolean clear) {
            try {
                if (clear) {
                    int done = FilibusterTls.fill(to, firstTo, countTo, data);
                    if (done == 0 && produced == 0) status = Status.BUFFER_OVERFLOW;
                    produced += done;
                    return done;
                }
                ByteBuffer[] made = FilibusterTls.before(to, firstTo, countTo), from = {ByteBuffer.wrap(data)};
                SSLEngineResult result = original(FilibusterTls.WRITE_RECORD, engine, from, 0, 1, to, firstTo, countTo);
                if (result.bytesProduced() > 0) Tls.produced(tls.session, FilibusterTls.peek(made, 0, countTo, result.bytesProduced()));
                if (produced == 0 || result.bytesProduced() > 0) {
                    status = result.getStatus();
                    handshake = result.getHandshakeStatus();
                }
                produced += result.bytesProduced();
                return result.bytesConsumed();
            } catch (Throwable problem) {
                thrown = problem;
                return -1;
            }
        }

        int get(boolean clear, int skipped) {
            return -2;
        }

        FilibusterPumped pumped() {
            tls.pumped = true;
            return new FilibusterPumpedEngine(tls, engine);
        }
    }

    /** In the place of SSLEngineImpl.readRecord. */
    static SSLEngineResult unwrap(SSLEngineImpl engine, ByteBuffer[] from, int first, int count, ByteBuffer[] to, int firstTo,
                                  int countTo) throws IOException {
        TransportContext context = engine.conContext;
        FilibusterTls tls = FilibusterTls.of(context);
        if (tls == null) return original(FilibusterTls.READ_RECORD, engine, from, first, count, to, firstTo, countTo);
        if (!tls.joined) tls.join(context);
        if (!tls.joined || !context.isNegotiated) {
            SSLEngineResult result = original(FilibusterTls.READ_RECORD, engine, from, first, count, to, firstTo, countTo);
            Tls.consumed(tls.session, result.bytesConsumed());
            if (!tls.joined) tls.join(context);
            return result;
        }
        Unwrap call = new Unwrap(tls, engine, from, first, count, to, firstTo, countTo);
        int error = Tls.read(tls.session, call, FilibusterTls.remaining(to, firstTo, countTo));
        if (call.thrown != null) FilibusterTls.<RuntimeException>raise(call.thrown);
        if (call.result == null && error != 0) throw new SSLException("the connection has ended: errno " + -error);
        return call.result;
    }

    private static final class Unwrap extends FilibusterCall {
        private static final int HEADER = 5;

        private final FilibusterTls tls;
        private final SSLEngineImpl engine;
        private final ByteBuffer[] from, to;
        private final int first, count, firstTo, countTo;
        SSLEngineResult result;

        Unwrap(FilibusterTls tls, SSLEngineImpl engine, ByteBuffer[] from, int first, int count, ByteBuffer[] to, int firstTo, int countTo) {
            this.tls = tls;
            this.engine = engine;
            this.from = from;
            this.first = first;
            this.count = count;
            this.to = to;
            this.firstTo = firstTo;
            this.countTo = countTo;
        }

        int put(byte[] data, boolean clear) {
            return -1;
        }

        int get(boolean clear, int skipped) {
            try {
                return clear ? copy(skipped) : decrypt();
            } catch (Throwable problem) {
                thrown = problem;
                return -2;
            }
        }

        private int decrypt() throws IOException {
            ByteBuffer[] made = FilibusterTls.before(to, firstTo, countTo);
            result = original(FilibusterTls.READ_RECORD, engine, from, first, count, to, firstTo, countTo);
            Tls.consumed(tls.session, result.bytesConsumed());
            if (result.bytesProduced() > 0) {
                bytes = FilibusterTls.peek(made, 0, countTo, result.bytesProduced());
                return bytes.length;
            }
            return result.getStatus() == Status.CLOSED ? 0 : -1;
        }

        private int copy(int skipped) {
            int there = FilibusterTls.remaining(from, first, count), old = Math.min(skipped, there);
            FilibusterTls.skip(from, first, count, old);
            if (old > 0) Tls.consumed(tls.session, old);
            there -= old;
            // They are framed (preload/inject/records.h).
            byte[] header = FilibusterTls.peek(from, first, count, Math.min(there, HEADER));
            int size = there < HEADER ? 0 : (header[3] & 255) << 8 | header[4] & 255;
            if (there < HEADER + size || FilibusterTls.remaining(to, firstTo, countTo) < size) {
                Status why = there < HEADER + size ? Status.BUFFER_UNDERFLOW : Status.BUFFER_OVERFLOW;
                result = new SSLEngineResult(old > 0 ? Status.OK : why, HandshakeStatus.NOT_HANDSHAKING, old, 0);
                return -1;
            }
            FilibusterTls.skip(from, first, count, HEADER);
            bytes = FilibusterTls.peek(from, first, count, size);
            FilibusterTls.skip(from, first, count, FilibusterTls.fill(to, firstTo, countTo, bytes));
            result = new SSLEngineResult(Status.OK, HandshakeStatus.NOT_HANDSHAKING, old + HEADER + size, size);
            return size;
        }
    }
}
