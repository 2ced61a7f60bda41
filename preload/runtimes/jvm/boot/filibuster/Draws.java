package filibuster;

/**
 * Random numbers, for the helpers of the JDK's generators (draws.cc). A draw is: {@code give}; where that says ASKED, {@code begin},
 * what the JDK does, and {@code end}. What the thread draws between these two is a part of it. In no named module, as Natives.
 */
public final class Draws {
    private Draws() {}

    /** Nobody looks, or this is a part of another draw. */
    public static final int PASSES = 0;
    /** The numbers are those of the recording. */
    public static final int GIVEN = 1;
    /** The numbers of the JDK are wanted, and are told to {@code end}. */
    public static final int ASKED = 2;
    /** Longer draws pass. */
    public static final int MOST_BYTES = 4096;

    public static native int give(byte[] bytes);
    /** One number, in its lowest bytes. */
    public static native int give(long[] number, int bytes);
    public static native void begin();
    /** {@code null}: the JDK has thrown. */
    public static native void end(byte[] bytes);
    public static native void end(long[] number, int bytes);
}
