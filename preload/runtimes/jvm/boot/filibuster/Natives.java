package filibuster;

/**
 * The door to the library (tasks.cc). In no named module: the JVM prints a warning where natives of a
 * named module of the JDK are bound by others.
 */
public final class Natives {
    private Natives() {}

    /** What work that is handed over now inherits. 0: no execution runs; 1: not known; 2: known. */
    public static native int capture(long[] context);
    /** The same for work of the future: what is scheduled while no request is open has no cause. */
    public static native int captureScheduled(long[] context);
    /** Sets the thread's context; the one before into {@code previous} (may be null). */
    public static native void swap(long[] next, long[] previous);
    /** The thread begins something else: what it read and inherited before does not count. */
    public static native void forget();
    public static native void starting(Thread thread);
    public static native void serveOthers();
    public static native void serveExchange();
    /** What this thread reads until {@code served} is what it works for; the context before into {@code before}. */
    public static native void serve(long[] before);
    public static native void served(long[] before);
    /** The field for a request that is made now, or null; `carried`: the application's own, or null. */
    public static native String field(String carried);
    /** The same for a call of grpc-java, whose transports are known. */
    public static native String grpcField(String carried);
    /** The context of a call that came in with this field (may be null). As `capture`. */
    public static native int received(String field, long[] context);
}
