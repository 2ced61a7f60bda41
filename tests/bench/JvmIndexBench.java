/**
 * What forming an execution index costs in a JVM, 30 frames deep: interpreted code, and compiled code.
 * JvmIndexBench LIBRARY BOUND (microseconds); exit code 1 if the bound is missed.
 */
public class JvmIndexBench {
    static native double median(int rounds);

    static double descend(int depth, int rounds) {
        return depth == 0 ? median(rounds) : descend(depth - 1, rounds);
    }

    public static void main(String[] arguments) {
        System.load(arguments[0]);
        double bound = Double.parseDouble(arguments[1]);
        boolean missed = false;
        for (String code : new String[] {"cold", "warm"}) {
            double result = descend(27, 20000);  // 30 with main and median
            int frames = (int) (result / 1e9);
            double microseconds = result % 1e9 / 1000;
            missed |= microseconds > bound || frames != 30;
            System.out.printf("index, JVM, %s code (%d frames): %.2f us (bound %.1f)%n", code, frames, microseconds, bound);
            for (int i = 0; i < 20000; i++) {
                descend(27, 1);
            }
        }
        System.exit(missed ? 1 : 0);
    }
}
