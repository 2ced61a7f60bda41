package filibuster;

/**
 * The door to the library for sessions of TLS (preload/hooks/jvm.cc). It is in no named module, as Natives is. A
 * {@code session} is a number that {@code make} gave, a {@code call} is a FilibusterCall.
 */
public final class Tls {
    private Tls() {}

    /** Nothing is followed now. */
    public static native boolean idle();
    /** 0: there is no memory. An engine gets its encrypted bytes from the application; a socket does not. */
    public static native long make(boolean engine, boolean server);
    public static native void free(long session);
    /** Looks for the connection that began with this random. True: it is followed from now on. */
    public static native boolean join(long session, byte[] random);
    /** Does a fault stand in the place of the connection? */
    public static native boolean diverted(long session);
    /** The engine has taken or given so many encrypted bytes. */
    public static native void consumed(long session, int size);
    public static native void produced(long session, byte[] bytes);
    /** The application has got so many bytes in the clear for those that a fault has taken. */
    public static native void swallowed(long session, int size);
    /** Returns how many bytes were taken, or an errno as a negative number. */
    public static native int write(long session, Object call, byte[] bytes);
    /** Calls {@code call.get}. Returns 0, or an errno as a negative number if that is the result. */
    public static native int read(long session, Object call, int room);
}
