package sun.security.ssl;

import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;

/**
 * As Engine in tls/pump.h: encrypted bytes come and go through two queues. Nothing here waits. It is used by one thread
 * of the library; the application closes a socket meanwhile, and so writes into a queue.
 */
abstract class FilibusterPumped {
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

        /** The position that a buffer of {@code all} has come to. */
        void skipTo(int position) {
            from = position;
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
