package java.security;

import filibuster.Draws;

/** The same as FilibusterRandom for SecureRandom, whatever its provider is. UUID.randomUUID and nextInt of a SecureRandom come here, too. */
public final class FilibusterSecureRandom {
    private FilibusterSecureRandom() {}

    public static void nextBytes(SecureRandomSpi generator, byte[] bytes) {
        nextBytes(generator, bytes, null);
    }

    public static void nextBytes(SecureRandomSpi generator, byte[] bytes, SecureRandomParameters parameters) {
        int draw = bytes == null || bytes.length > Draws.MOST_BYTES ? Draws.PASSES : Draws.give(bytes);
        if (draw == Draws.GIVEN) {
            return;
        }
        if (draw == Draws.PASSES) {
            fill(generator, bytes, parameters);
            return;
        }
        byte[] drawn = null;
        Draws.begin();
        try {
            fill(generator, bytes, parameters);
            drawn = bytes;
        } finally {
            Draws.end(drawn);
        }
    }

    private static void fill(SecureRandomSpi generator, byte[] bytes, SecureRandomParameters parameters) {
        if (parameters == null) {
            generator.engineNextBytes(bytes);
        } else {
            generator.engineNextBytes(bytes, parameters);
        }
    }
}
