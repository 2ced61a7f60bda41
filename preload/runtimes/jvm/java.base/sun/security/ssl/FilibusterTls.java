package sun.security.ssl;

import filibuster.Tls;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.lang.reflect.Method;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;
import javax.net.ssl.SSLEngineResult.Status;
import javax.net.ssl.SSLException;

/**
 * What SSLEngineImpl and SSLSocketImpl are edited to call (edits.cc), where they encrypt and decrypt. Plain bytes are
 * shown to the library, which may change what is written. While a fault stands in the place of the connection, bytes go
 * in the clear, past the encryption. A session is joined with its connection in its handshake, by the random of the
 * ClientHello. One that is not, or that began before the library was there, is left as it is.
 */
final class FilibusterTls {
    /** Of a record (RFC 8446 5.1). */
    private static final int RECORD = 16 * 1024;
    private static final int EPIPE = 32, ECONNRESET = 104;

    private static final MethodHandle WRITE_RECORD, READ_RECORD, ENGINE_LOCK, READ_APPLICATION_RECORD, RECEIVER, DELIVERER;

    static {
        try {
            Class<?> buffers = ByteBuffer[].class;
            WRITE_RECORD = method(SSLEngineImpl.class, "writeRecord", buffers, int.class, int.class, buffers, int.class, int.class);
            READ_RECORD = method(SSLEngineImpl.class, "readRecord", buffers, int.class, int.class, buffers, int.class, int.class);
            ENGINE_LOCK = lookup(SSLEngineImpl.class).findGetter(SSLEngineImpl.class, "engineLock", ReentrantLock.class);
            READ_APPLICATION_RECORD = method(SSLSocketImpl.class, "readApplicationRecord", ByteBuffer.class);
            RECEIVER = lookup(SSLSocketInputRecord.class).findGetter(SSLSocketInputRecord.class, "is", InputStream.class);
            DELIVERER = lookup(SSLSocketOutputRecord.class).findGetter(SSLSocketOutputRecord.class, "deliverStream", OutputStream.class);
        } catch (ReflectiveOperationException problem) {
            throw new ExceptionInInitializerError(problem);
        }
    }

    /** Is all that is needed there? (It is asked before any class is edited.) */
    static boolean ready() {
        return WRITE_RECORD != null;
    }

    private static MethodHandles.Lookup lookup(Class<?> type) throws IllegalAccessException {
        return MethodHandles.privateLookupIn(type, MethodHandles.lookup());
    }

    private static MethodHandle method(Class<?> type, String name, Class<?>... arguments) throws ReflectiveOperationException {
        Method found = type.getDeclaredMethod(name, arguments);
        return lookup(type).unreflect(found);
    }

    // --- sessions, by the engine or the socket that they belong to -----------------------------------

    private static final class Key extends WeakReference<Object> {
        private final int hash;

        Key(Object owner, ReferenceQueue<Object> queue) {
            super(owner, queue);
            hash = System.identityHashCode(owner);
        }

        public int hashCode() {
            return hash;
        }

        public boolean equals(Object other) {
            if (this == other) return true;
            Object owner = get();
            return owner != null && other instanceof Key && ((Key) other).get() == owner;
        }
    }

    private static final ReferenceQueue<Object> GONE = new ReferenceQueue<>();
    private static final ConcurrentHashMap<Key, FilibusterTls> SESSIONS = new ConcurrentHashMap<>();

    private final long session;
    private volatile boolean joined, pumped;
    /** Of a socket, while a thread of the library uses the session: the streams of its connection. */
    private volatile InputStream receiver;
    private volatile OutputStream deliverer;

    private FilibusterTls(long session) {
        this.session = session;
    }

    /** Null: it is not followed, and will not be. */
    private static FilibusterTls of(Object owner, TransportContext context, boolean engine) {
        if (Tls.idle()) return null;
        FilibusterTls known = SESSIONS.get(new Key(owner, null));
        if (known != null || !begins(context)) return known;
        for (Object key; (key = GONE.poll()) != null; ) {
            FilibusterTls ended = SESSIONS.remove(key);
            if (ended != null) Tls.free(ended.session);
        }
        long made = Tls.make(engine, !context.sslConfig.isClientMode);
        if (made == 0) return null;
        known = new FilibusterTls(made);
        SESSIONS.put(new Key(owner, GONE), known);
        return known;
    }

    /** Nothing of the peer was seen yet. */
    private static boolean begins(TransportContext context) {
        if (context.isNegotiated || context.isBroken || context.isUnsureMode || context.sslContext.isDTLS()) return false;
        HandshakeContext handshake = context.handshakeContext;
        if (handshake == null) return true;
        return context.sslConfig.isClientMode ? handshake.serverHelloRandom == null : handshake.clientHelloRandom == null;
    }

    private void join(TransportContext context) {
        HandshakeContext handshake = context.handshakeContext;
        RandomCookie random = handshake == null ? null : handshake.clientHelloRandom;
        if (!joined && random != null) joined = Tls.join(session, random.randomBytes);
    }

    /** One read or write, while the library is inside. It is called back from there. */
    abstract static class Call {
        /** What the original threw, for whoever made the call. */
        Throwable thrown;
        /** The bytes that {@code get} brought. */
        byte[] bytes;

        /** Writes as the original does, or in the clear. Returns how many bytes were taken; -1: it failed. */
        abstract int put(byte[] data, boolean clear);

        /**
         * Reads as the original does, or in the clear past {@code skipped} bytes. Returns how many bytes there are;
         * 0: the end; -1: none now; -2: it failed.
         */
        abstract int get(boolean clear, int skipped);

        /** For a fault that has to read and write the real connection. Null: it cannot. */
        Pumped pumped() {
            return null;
        }
    }

    // --- buffers -------------------------------------------------------------------------------------

    private static int remaining(ByteBuffer[] buffers, int first, int count) {
        long size = 0;
        for (int i = first; i < first + count; i++) size += buffers[i].remaining();
        return (int) Math.min(size, Integer.MAX_VALUE);
    }

    /** The first bytes, which stay where they are. */
    private static byte[] peek(ByteBuffer[] buffers, int first, int count, int size) {
        byte[] bytes = new byte[size];
        for (int i = first, done = 0; i < first + count && done < size; i++) {
            ByteBuffer from = buffers[i].duplicate();
            int part = Math.min(from.remaining(), size - done);
            from.get(bytes, done, part);
            done += part;
        }
        return bytes;
    }

    private static void skip(ByteBuffer[] buffers, int first, int count, int size) {
        for (int i = first; i < first + count && size > 0; i++) {
            int part = Math.min(buffers[i].remaining(), size);
            buffers[i].position(buffers[i].position() + part);
            size -= part;
        }
    }

    /** Returns how many bytes there was room for. */
    private static int fill(ByteBuffer[] buffers, int first, int count, byte[] bytes) {
        int done = 0;
        for (int i = first; i < first + count && done < bytes.length; i++) {
            int part = Math.min(buffers[i].remaining(), bytes.length - done);
            buffers[i].put(bytes, done, part);
            done += part;
        }
        return done;
    }

    /** Copies of the buffers, from which {@code size} bytes can be read that were put into them. */
    private static ByteBuffer[] before(ByteBuffer[] buffers, int first, int count) {
        ByteBuffer[] copies = new ByteBuffer[count];
        for (int i = 0; i < count; i++) copies[i] = buffers[first + i].duplicate();
        return copies;
    }

    private static <T extends Throwable> void raise(Throwable thrown) throws T {
        @SuppressWarnings("unchecked")
        T raised = (T) thrown;
        throw raised;
    }

    // --- engines -------------------------------------------------------------------------------------

    private static SSLEngineResult original(MethodHandle method, SSLEngineImpl engine, ByteBuffer[] from, int first, int count,
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
        FilibusterTls tls = of(engine, context, true);
        if (tls == null) return original(WRITE_RECORD, engine, from, first, count, to, firstTo, countTo);
        if (!tls.joined) tls.join(context);
        boolean carriesData = tls.joined && context.isNegotiated && !context.needHandshakeFinishedStatus && !context.isOutboundClosed();
        int size = carriesData ? remaining(from, first, count) : 0;
        if (size == 0) {
            if (tls.joined && Tls.diverted(tls.session)) return tls.drain(engine, from);
            ByteBuffer[] made = before(to, firstTo, countTo);
            SSLEngineResult result = original(WRITE_RECORD, engine, from, first, count, to, firstTo, countTo);
            if (result.bytesProduced() > 0) Tls.produced(tls.session, peek(made, 0, countTo, result.bytesProduced()));
            return result;
        }
        Wrap call = new Wrap(tls, engine, to, firstTo, countTo);
        int taken = Tls.write(tls.session, call, peek(from, first, count, Math.min(size, RECORD)));
        if (call.thrown != null) FilibusterTls.<RuntimeException>raise(call.thrown);
        if (taken < 0) throw new SSLException("the connection has ended: errno " + -taken);
        skip(from, first, count, taken);
        return new SSLEngineResult(call.status, call.handshake, taken, call.produced);
    }

    /** What an engine says for itself (alerts) has no place among bytes in the clear. */
    private SSLEngineResult drain(SSLEngineImpl engine, ByteBuffer[] from) throws IOException {
        if (pumped) {
            Status status = engine.conContext.isOutboundClosed() ? Status.CLOSED : Status.OK;
            return new SSLEngineResult(status, HandshakeStatus.NOT_HANDSHAKING, 0, 0);
        }
        ByteBuffer[] nowhere = {ByteBuffer.allocate(engine.conContext.conSession.getPacketBufferSize())};
        SSLEngineResult result = original(WRITE_RECORD, engine, from, 0, 0, nowhere, 0, 1);
        boolean closed = result.getStatus() == Status.CLOSED;
        return new SSLEngineResult(closed ? Status.CLOSED : Status.OK, HandshakeStatus.NOT_HANDSHAKING, 0, 0);
    }

    private static final class Wrap extends Call {
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
                    int done = fill(to, firstTo, countTo, data);
                    if (done == 0 && produced == 0) status = Status.BUFFER_OVERFLOW;
                    produced += done;
                    return done;
                }
                ByteBuffer[] made = before(to, firstTo, countTo), from = {ByteBuffer.wrap(data)};
                SSLEngineResult result = original(WRITE_RECORD, engine, from, 0, 1, to, firstTo, countTo);
                if (result.bytesProduced() > 0) Tls.produced(tls.session, peek(made, 0, countTo, result.bytesProduced()));
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

        Pumped pumped() {
            tls.pumped = true;
            return new PumpedEngine(tls, engine);
        }
    }

    /** In the place of SSLEngineImpl.readRecord. */
    static SSLEngineResult unwrap(SSLEngineImpl engine, ByteBuffer[] from, int first, int count, ByteBuffer[] to, int firstTo,
                                  int countTo) throws IOException {
        TransportContext context = engine.conContext;
        FilibusterTls tls = of(engine, context, true);
        if (tls == null) return original(READ_RECORD, engine, from, first, count, to, firstTo, countTo);
        if (!tls.joined) tls.join(context);
        if (!tls.joined || !context.isNegotiated) {
            SSLEngineResult result = original(READ_RECORD, engine, from, first, count, to, firstTo, countTo);
            Tls.consumed(tls.session, result.bytesConsumed());
            if (!tls.joined) tls.join(context);
            return result;
        }
        Unwrap call = new Unwrap(tls, engine, from, first, count, to, firstTo, countTo);
        int error = Tls.read(tls.session, call, remaining(to, firstTo, countTo));
        if (call.thrown != null) FilibusterTls.<RuntimeException>raise(call.thrown);
        if (call.result == null && error != 0) throw new SSLException("the connection has ended: errno " + -error);
        return call.result;
    }

    private static final class Unwrap extends Call {
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
            ByteBuffer[] made = before(to, firstTo, countTo);
            result = original(READ_RECORD, engine, from, first, count, to, firstTo, countTo);
            Tls.consumed(tls.session, result.bytesConsumed());
            if (result.bytesProduced() > 0) {
                bytes = peek(made, 0, countTo, result.bytesProduced());
                return bytes.length;
            }
            return result.getStatus() == Status.CLOSED ? 0 : -1;
        }

        private int copy(int skipped) {
            int there = remaining(from, first, count), old = Math.min(skipped, there);
            skip(from, first, count, old);
            if (old > 0) Tls.consumed(tls.session, old);
            int size = Math.min(there - old, remaining(to, firstTo, countTo));
            bytes = peek(from, first, count, size);
            skip(from, first, count, fill(to, firstTo, countTo, bytes));
            Status status = size > 0 || old > 0 ? Status.OK : there > 0 ? Status.BUFFER_OVERFLOW : Status.BUFFER_UNDERFLOW;
            result = new SSLEngineResult(status, HandshakeStatus.NOT_HANDSHAKING, old + size, size);
            return size > 0 ? size : -1;
        }
    }

    // --- sockets -------------------------------------------------------------------------------------

    /** SSLSocketImpl.readHandshakeRecord begins. */
    static void handshaking(SSLSocketImpl socket) {
        FilibusterTls tls = of(socket, socket.conContext, false);
        if (tls != null && !tls.joined) tls.join(socket.conContext);
    }

    /** In the place of OutputRecord.deliver, for what the application writes. */
    static void deliver(OutputRecord record, byte[] bytes, int first, int size) throws IOException {
        TransportContext context = record.tc;
        FilibusterTls tls = context != null && context.transport instanceof SSLSocketImpl ? of(context.transport, context, false) : null;
        if (tls == null || !tls.joined) {
            record.deliver(bytes, first, size);
            return;
        }
        for (int done = 0; done < size; ) {
            byte[] part = java.util.Arrays.copyOfRange(bytes, first + done, first + done + Math.min(size - done, RECORD));
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

    private static final class Deliver extends Call {
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
                    if (to == null) to = (OutputStream) DELIVERER.invokeExact((SSLSocketOutputRecord) record);
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

        Pumped pumped() {
            try {
                SSLSocketImpl socket = (SSLSocketImpl) record.tc.transport;
                tls.receiver = (InputStream) RECEIVER.invokeExact((SSLSocketInputRecord) socket.conContext.inputRecord);
                tls.deliverer = (OutputStream) DELIVERER.invokeExact((SSLSocketOutputRecord) record);
                return new PumpedSocket(tls, socket);
            } catch (Throwable problem) {
                return null;
            }
        }
    }

    /** In the place of SSLSocketImpl.readApplicationRecord. Null: the end. */
    static ByteBuffer read(SSLSocketImpl socket, ByteBuffer buffer) throws IOException {
        FilibusterTls tls = of(socket, socket.conContext, false);
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

    private static final class Receive extends Call {
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
                received = clear ? copy() : (ByteBuffer) READ_APPLICATION_RECORD.invokeExact(socket, buffer);
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
            if (from == null) from = (InputStream) RECEIVER.invokeExact((SSLSocketInputRecord) socket.conContext.inputRecord);
            buffer.clear();
            int size = from.read(buffer.array(), 0, buffer.capacity());
            return size < 0 ? null : buffer.position(size);
        }
    }

    // --- while a thread of the library uses the session ------------------------------------------------

    /**
     * As Engine in tls/pump.h: encrypted bytes come and go through two queues. Nothing here waits. It is used by one thread
     * of the library; the application closes a socket meanwhile, and so writes into a queue.
     */
    abstract static class Pumped {
        private static final int EAGAIN = -11, ECONNABORTED = -103, HEADER = 5;

        final Queue in = new Queue(), out = new Queue();
        private ByteBuffer clear = ByteBuffer.allocate(0);

        /** Returns what can be read in the clear; null: the end. If nothing is there, it is empty. */
        abstract ByteBuffer decrypt() throws Throwable;

        abstract int encrypt(byte[] data) throws Throwable;

        abstract void end() throws Throwable;

        /** There is no thread. */
        void abandon() {}

        /** Called when there is nothing to take: what the session has to say for itself. */
        void say() throws Throwable {}

        final int feed(byte[] data) {
            in.write(data, 0, data.length);
            return data.length;
        }

        final int unsent(byte[] data) {
            out.write(data, 0, data.length);
            return data.length;
        }

        final int take(byte[] data) {
            try {
                if (out.size() == 0) say();
                return out.size() == 0 ? 0 : out.read(data, 0, data.length);
            } catch (Throwable problem) {
                return 0;
            }
        }

        final int read(byte[] data) {
            try {
                if (!clear.hasRemaining()) clear = decrypt();
            } catch (Throwable problem) {
                clear = ByteBuffer.allocate(0);
                return ECONNABORTED;
            }
            if (clear == null) {
                clear = ByteBuffer.allocate(0);
                return 0;
            }
            int size = Math.min(clear.remaining(), data.length);
            clear.get(data, 0, size);
            return size == 0 ? EAGAIN : size;
        }

        final int write(byte[] data) {
            try {
                int size = encrypt(data);
                return size == 0 ? EAGAIN : size;
            } catch (Throwable problem) {
                return ECONNABORTED;
            }
        }

        final void close() {
            try {
                end();
            } catch (Throwable problem) {
                // The connection ends without it.
            }
        }

        /** Encrypted bytes. Where a stream would wait for more, this throws. */
        static final class Queue extends InputStream {
            private byte[] bytes = new byte[32 * 1024];
            private int from, to;

            synchronized int size() {
                return to - from;
            }

            ByteBuffer all() {
                return ByteBuffer.wrap(bytes, from, size());
            }

            synchronized void write(byte[] data, int first, int size) {
                if (size > bytes.length - to) {
                    byte[] room = size + size() > bytes.length ? new byte[2 * (size + size())] : bytes;
                    System.arraycopy(bytes, from, room, 0, size());
                    bytes = room;
                    to -= from;
                    from = 0;
                }
                System.arraycopy(data, first, bytes, to, size);
                to += size;
            }

            boolean hasRecord() {
                return size() >= HEADER && size() - HEADER >= ((bytes[from + 3] & 255) << 8 | bytes[from + 4] & 255);
            }

            public int available() {
                return size();
            }

            public synchronized int read() throws IOException {
                if (size() == 0) throw new InterruptedIOException();
                return bytes[from++] & 255;
            }

            public synchronized int read(byte[] data, int first, int most) throws IOException {
                int size = Math.min(most, size());
                if (size == 0 && most > 0) throw new InterruptedIOException();
                System.arraycopy(bytes, from, data, first, size);
                from += size;
                return size;
            }
        }
    }

    private static final class PumpedEngine extends Pumped {
        private final SSLEngineImpl engine;
        private final FilibusterTls tls;
        private final ReentrantLock lock;

        PumpedEngine(FilibusterTls tls, SSLEngineImpl engine) {
            this.tls = tls;
            this.engine = engine;
            ReentrantLock found = null;
            try {
                found = (ReentrantLock) ENGINE_LOCK.invokeExact(engine);
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
                SSLEngineResult result = original(WRITE_RECORD, engine, new ByteBuffer[] {from}, 0, 1, new ByteBuffer[] {to}, 0, 1);
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
                    result = original(READ_RECORD, engine, new ByteBuffer[] {from}, 0, 1, new ByteBuffer[] {to}, 0, 1);
                } finally {
                    lock.unlock();
                }
                in.from = from.position();
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

    private static final class PumpedSocket extends Pumped {
        private final SSLSocketImpl socket;
        private final FilibusterTls tls;
        private ByteBuffer room = ByteBuffer.allocate(0);

        PumpedSocket(FilibusterTls tls, SSLSocketImpl socket) {
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
                ByteBuffer got = (ByteBuffer) READ_APPLICATION_RECORD.invokeExact(socket, room);
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
}
