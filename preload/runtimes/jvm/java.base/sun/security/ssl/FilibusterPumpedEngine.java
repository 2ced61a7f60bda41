package sun.security.ssl;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.locks.ReentrantLock;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;
import javax.net.ssl.SSLEngineResult.Status;
import javax.net.ssl.SSLException;

/** An engine that a thread of the library uses. */
final class FilibusterPumpedEngine extends FilibusterPumped {
    private final SSLEngineImpl engine;
    private final FilibusterTls tls;
    private final ReentrantLock lock;

    FilibusterPumpedEngine(FilibusterTls tls, SSLEngineImpl engine) {
        this.tls = tls;
        this.engine = engine;
        ReentrantLock found = null;
        try {
            found = (ReentrantLock) FilibusterTls.ENGINE_LOCK.invokeExact(engine);
        } catch (Throwable problem) {
            // It was found before.
        }
        lock = found;
    }

    void abandon() {
        tls.pumped = false;
    }

    private void work() {
        for (Runnable task; (task = engine.getDelegatedTask()) != null; ) task.run();
    }

    private SSLEngineResult wrap(ByteBuffer from) throws IOException {
        ByteBuffer to = ByteBuffer.allocate(engine.conContext.conSession.getPacketBufferSize());
        lock.lock();
        try {
            SSLEngineResult result = FilibusterEngine.original(FilibusterTls.WRITE_RECORD, engine, new ByteBuffer[] {from}, 0, 1, new ByteBuffer[] {to}, 0, 1);
            out.write(to.array(), 0, to.position());
            return result;
        } finally {
            lock.unlock();
        }
    }

    ByteBuffer decrypt() throws IOException {
        ByteBuffer from = in.all(), to = ByteBuffer.allocate(engine.conContext.conSession.getApplicationBufferSize());
        while (to.position() == 0 && in.hasRecord()) {
            SSLEngineResult result;
            lock.lock();
            try {
                result = FilibusterEngine.original(FilibusterTls.READ_RECORD, engine, new ByteBuffer[] {from}, 0, 1, new ByteBuffer[] {to}, 0, 1);
            } finally {
                lock.unlock();
            }
            in.skipTo(from.position());
            if (result.getStatus() == Status.CLOSED) return null;
            if (result.getHandshakeStatus() == HandshakeStatus.NEED_TASK) work();
            else if (result.bytesConsumed() == 0) break;
        }
        return to.flip();
    }

    int encrypt(byte[] data) throws IOException {
        ByteBuffer from = ByteBuffer.wrap(data);
        SSLEngineResult result = wrap(from);
        if (result.getStatus() == Status.CLOSED) throw new SSLException("closed");
        if (from.position() == 0 && result.bytesProduced() > 0) wrap(from); // it had something to say first
        return from.position();
    }

    void say() throws IOException {
        if (engine.conContext.getHandshakeStatus() == HandshakeStatus.NEED_WRAP) wrap(ByteBuffer.allocate(0));
    }

    void end() throws IOException {
        engine.closeOutbound();
        say();
    }
}
