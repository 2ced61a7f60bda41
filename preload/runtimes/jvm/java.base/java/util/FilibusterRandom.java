package java.util;

import filibuster.Draws;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/**
 * Stands between the methods of Random and SplittableRandom and their generators, whose state is advanced by all requests of the process. The class stands in
 * this package so that it may call what they keep to themselves. Only where random numbers are recorded or given back.
 */
public final class FilibusterRandom {
    private FilibusterRandom() {}

    private static final int BYTES = 4;

    /** Random.next, and that of its subclasses. What was recorded may be of another number of bits. */
    public static int next(Random generator, int bits) {
        long[] number = new long[1];
        switch (Draws.give(number, BYTES)) {
            case Draws.GIVEN:
                return bits < 32 ? (int) number[0] & ((1 << bits) - 1) : (int) number[0];
            case Draws.ASKED:
                break;
            default:
                return generator.next(bits);
        }
        long[] drawn = null;
        Draws.begin();
        try {
            int value = generator.next(bits);
            number[0] = value;
            drawn = number;
            return value;
        } finally {
            Draws.end(drawn, BYTES);
        }
    }

    /** SplittableRandom.nextSeed, which is private. */
    public static long seed(SplittableRandom generator) throws Throwable {
        long[] number = new long[1];
        switch (Draws.give(number, Long.BYTES)) {
            case Draws.GIVEN:
                return number[0];
            case Draws.ASKED:
                break;
            default:
                return (long) Splittable.NEXT_SEED.invokeExact(generator);
        }
        // (It adds two numbers, and draws from nobody.)
        number[0] = (long) Splittable.NEXT_SEED.invokeExact(generator);
        Draws.begin();
        Draws.end(number, Long.BYTES);
        return number[0];
    }

    private static final class Splittable {
        static final MethodHandle NEXT_SEED;

        static {
            try {
                NEXT_SEED = MethodHandles.privateLookupIn(SplittableRandom.class, MethodHandles.lookup())
                        .findVirtual(SplittableRandom.class, "nextSeed", MethodType.methodType(long.class));
            } catch (ReflectiveOperationException e) {
                throw new ExceptionInInitializerError(e);
            }
        }
    }
}
