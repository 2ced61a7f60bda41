package filibuster;

/**
 * The door to the library (tasks.cc). It is in no named module, because the JVM prints a warning where
 * others bind natives of a named module of the JDK.
 */
public final class Natives {
    private Natives() {}

    /** What work that is handed over now inherits. 0: no execution runs; 1: not known; 2: known. */
    public static native int capture(long[] context);
    /** The same for work of the future: what is scheduled while no request is open has no cause. */
    public static native int captureScheduled(long[] context);
    /** Sets the thread's context. The one before is written into {@code previous}, which may be null. */
    public static native void swap(long[] next, long[] previous);
    /** The thread begins something else: what it read and inherited before does not count. */
    public static native void forget();
    public static native void starting(Thread thread);
    public static native void serveOthers();
    public static native void serveExchange();
    /** Until {@code served} this thread works for what it reads. The context before goes into {@code before}. */
    public static native void serve(long[] before);
    public static native void served(long[] before);
    /** The field for a request that is made now, or null. {@code carried} is the application's own, or null. */
    public static native String field(String carried);
    /** The same for a call of grpc-java, whose transports are known. */
    public static native String grpcField(String carried);
    /** The context of a call that came in with this field (may be null). The results are those of capture. */
    public static native int received(String field, long[] context);
}
