package sun.security.ssl;

import filibuster.Tls;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A session of SSLEngineImpl or SSLSocketImpl, which are edited (edits.cc) where they encrypt and decrypt. Plain bytes are
 * shown to the library, which may change what is written. While a fault stands in the place of the connection, bytes go
 * in the clear, past the encryption. A session is joined with its connection in its handshake, by the random of the
 * ClientHello. One that is not, or that began before the library was there, is left as it is.
 */
final class FilibusterTls {
    /** Of a record (RFC 8446 5.1). */
    static final int RECORD = 16 * 1024;

    static final MethodHandle WRITE_RECORD, READ_RECORD, ENGINE_LOCK, READ_APPLICATION_RECORD, RECEIVER, DELIVERER;

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

    // --- sessions, by what belongs to one engine or socket -----------------------------------

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

    final long session;
    volatile boolean joined, pumped;
    /** Of a socket, while a thread of the library uses the session: the streams of its connection. */
    volatile InputStream receiver;
    volatile OutputStream deliverer;

    private final WeakReference<TransportContext> context;

    private FilibusterTls(long session, TransportContext context) {
        this.session = session;
        this.context = new WeakReference<>(context);
    }

    /** Null: it is not followed. */
    static FilibusterTls find(OutputRecord record) {
        return Tls.idle() ? null : SESSIONS.get(new Key(record, null));
    }

    /** The session of an SSLEngineImpl or SSLSocketImpl, each of which has its own record. Null: it is not followed, and will not be. */
    static FilibusterTls of(TransportContext context) {
        FilibusterTls known = find(context.outputRecord);
        if (known != null || !begins(context)) return known;
        for (Object key; (key = GONE.poll()) != null; ) {
            FilibusterTls ended = SESSIONS.remove(key);
            if (ended != null) Tls.free(ended.session);
        }
        long made = Tls.idle() ? 0 : Tls.make(context.transport instanceof SSLEngineImpl, !context.sslConfig.isClientMode);
        if (made == 0) return null;
        FilibusterTls added = new FilibusterTls(made, context);
        known = SESSIONS.putIfAbsent(new Key(context.outputRecord, GONE), added);
        if (known == null) return added;
        // Another thread, which reads or writes the same socket, was faster.
        Tls.free(made);
        return known;
    }

    /** Nothing of the peer was seen yet. */
    private static boolean begins(TransportContext context) {
        if (context.isNegotiated || context.isBroken || context.isUnsureMode || context.sslContext.isDTLS()) return false;
        HandshakeContext handshake = context.handshakeContext;
        if (handshake == null) return true;
        return context.sslConfig.isClientMode ? handshake.serverHelloRandom == null : handshake.clientHelloRandom == null;
    }

    /** Null: it is gone. */
    SSLSocketImpl socket() {
        TransportContext known = context.get();
        return known == null ? null : (SSLSocketImpl) known.transport;
    }

    void join(TransportContext context) {
        HandshakeContext handshake = context.handshakeContext;
        RandomCookie random = handshake == null ? null : handshake.clientHelloRandom;
        if (!joined && random != null) joined = Tls.join(session, random.randomBytes);
    }

    // --- buffers -------------------------------------------------------------------------------------

    static int remaining(ByteBuffer[] buffers, int first, int count) {
        long size = 0;
        for (int i = first; i < first + count; i++) size += buffers[i].remaining();
        return (int) Math.min(size, Integer.MAX_VALUE);
    }

    /** The first bytes, which stay where they are. */
    static byte[] peek(ByteBuffer[] buffers, int first, int count, int size) {
        byte[] bytes = new byte[size];
        for (int i = first, done = 0; i < first + count && done < size; i++) {
            ByteBuffer from = buffers[i].duplicate();
            int part = Math.min(from.remaining(), size - done);
            from.get(bytes, done, part);
            done += part;
        }
        return bytes;
    }

    static void skip(ByteBuffer[] buffers, int first, int count, int size) {
        for (int i = first; i < first + count && size > 0; i++) {
            int part = Math.min(buffers[i].remaining(), size);
            buffers[i].position(buffers[i].position() + part);
            size -= part;
        }
    }

    /** Returns how many bytes there was room for. */
    static int fill(ByteBuffer[] buffers, int first, int count, byte[] bytes) {
        int done = 0;
        for (int i = first; i < first + count && done < bytes.length; i++) {
            int part = Math.min(buffers[i].remaining(), bytes.length - done);
            buffers[i].put(bytes, done, part);
            done += part;
        }
        return done;
    }

    /** Copies of the buffers, from which {@code size} bytes can be read that were put into them. */
    static ByteBuffer[] before(ByteBuffer[] buffers, int first, int count) {
        ByteBuffer[] copies = new ByteBuffer[count];
        for (int i = 0; i < count; i++) copies[i] = buffers[first + i].duplicate();
        return copies;
    }

    static <T extends Throwable> void raise(Throwable thrown) throws T {
        @SuppressWarnings("unchecked")
        T raised = (T) thrown;
        throw raised;
    }
}
