package sun.security.ssl;

/** One read or write, while the library is inside. It is called back from there. */
abstract class FilibusterCall {
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
    FilibusterPumped pumped() {
        return null;
    }
}
