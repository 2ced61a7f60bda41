package java.util.concurrent;

import filibuster.Draws;

/** The same as FilibusterRandom for ThreadLocalRandom, whose generators belong to threads that serve one request after another. */
public final class FilibusterThreadRandom {
    private FilibusterThreadRandom() {}

    public static long seed(ThreadLocalRandom generator) {
        long[] number = new long[1];
        int draw = Draws.give(number, Long.BYTES);
        if (draw == Draws.GIVEN) {
            return number[0];
        }
        // (It adds two numbers, and draws from nobody.)
        number[0] = generator.nextSeed();
        if (draw == Draws.ASKED) {
            Draws.begin();
            Draws.end(number, Long.BYTES);
        }
        return number[0];
    }
}
