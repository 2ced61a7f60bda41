package java.util.concurrent;

import filibuster.Natives;
import filibuster.Tls;
import java.util.TimerTask;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Carries the context of an incoming request (which request causes what runs now) to the threads
 * that go on with its work. The methods of the JDK that take work are edited to call methods here
 * (edits.cc has the table of them). The class stands in this package so that it may
 * call what ThreadPoolExecutor and ForkJoinTask keep to themselves.
 *
 * <p>Nothing here may throw what the caller does not expect: natives throw nothing, and a wrapper throws
 * only what its inner work throws. Without a context, what is given comes back as it is.
 */
public final class Filibuster {
    private Filibuster() {}

    /** How many numbers a context has; the natives write them. */
    static final int SIZE = 5;
    static final int NOT_EXECUTING = 0;
    private static final int UNKNOWN = 1;
    private static final long[] NO_CONTEXT = new long[SIZE];

    /** Thread.start: the new thread inherits. */
    public static void starting(Thread thread) {
        Natives.starting(thread);
    }

    /** This thread takes work from a queue, or waits for many connections: it serves others. */
    public static void serveOthers() {
        Natives.serveOthers();
    }

    /** The JDK's HTTP server begins an exchange: what this thread reads next is its request. */
    public static void serveExchange() {
        Natives.serveExchange();
    }

    /** For FilibusterRequest, whose module does not read that of Natives. */
    public static String field(String carried) {
        return Natives.field(carried);
    }

    /** Are sessions of the JDK's TLS followed now? */
    public static boolean followsTls() {
        return !Tls.idle();
    }

    // --- what a context is put around -------------------------------------------------------------

    /** The context of this thread; null if it is not known: a task without a context runs with an unknown one, too. */
    static long[] known() {
        long[] context = new long[SIZE];
        return Natives.capture(context) > UNKNOWN ? context : null;
    }

    /** The context, even if it is not known: that of whoever completes a future must not show. Null: no execution. */
    private static long[] any() {
        long[] context = new long[SIZE];
        return Natives.capture(context) != NOT_EXECUTING ? context : null;
    }

    static long[] enter(long[] context) {
        long[] previous = new long[SIZE];
        Natives.swap(context, previous);
        return previous;
    }

    static void leave(long[] previous) {
        Natives.swap(previous, null);
    }

    static final class Ran implements Runnable {
        private final long[] context;
        final Runnable inner;

        Ran(long[] context, Runnable inner) {
            this.context = context;
            this.inner = inner;
        }

        public void run() {
            long[] previous = enter(context);
            try {
                inner.run();
            } finally {
                leave(previous);
            }
        }

        public String toString() {
            return inner.toString();
        }
    }

    static final class Called<V> implements Callable<V> {
        private final long[] context;
        private final Callable<V> inner;

        Called(long[] context, Callable<V> inner) {
            this.context = context;
            this.inner = inner;
        }

        public V call() throws Exception {
            long[] previous = enter(context);
            try {
                return inner.call();
            } finally {
                leave(previous);
            }
        }

        public String toString() {
            return inner.toString();
        }
    }

    static final class Supplied<T> implements Supplier<T> {
        private final long[] context;
        private final Supplier<T> inner;

        Supplied(long[] context, Supplier<T> inner) {
            this.context = context;
            this.inner = inner;
        }

        public T get() {
            long[] previous = enter(context);
            try {
                return inner.get();
            } finally {
                leave(previous);
            }
        }
    }

    static final class Applied<T, R> implements Function<T, R> {
        private final long[] context;
        private final Function<T, R> inner;

        Applied(long[] context, Function<T, R> inner) {
            this.context = context;
            this.inner = inner;
        }

        public R apply(T value) {
            long[] previous = enter(context);
            try {
                return inner.apply(value);
            } finally {
                leave(previous);
            }
        }
    }

    static final class Applied2<T, U, R> implements BiFunction<T, U, R> {
        private final long[] context;
        private final BiFunction<T, U, R> inner;

        Applied2(long[] context, BiFunction<T, U, R> inner) {
            this.context = context;
            this.inner = inner;
        }

        public R apply(T first, U second) {
            long[] previous = enter(context);
            try {
                return inner.apply(first, second);
            } finally {
                leave(previous);
            }
        }
    }

    static final class Accepted<T> implements Consumer<T> {
        private final long[] context;
        private final Consumer<T> inner;

        Accepted(long[] context, Consumer<T> inner) {
            this.context = context;
            this.inner = inner;
        }

        public void accept(T value) {
            long[] previous = enter(context);
            try {
                inner.accept(value);
            } finally {
                leave(previous);
            }
        }
    }

    static final class Accepted2<T, U> implements BiConsumer<T, U> {
        private final long[] context;
        private final BiConsumer<T, U> inner;

        Accepted2(long[] context, BiConsumer<T, U> inner) {
            this.context = context;
            this.inner = inner;
        }

        public void accept(T first, U second) {
            long[] previous = enter(context);
            try {
                inner.accept(first, second);
            } finally {
                leave(previous);
            }
        }
    }

    // --- CompletableFuture: whoever completes it runs the functions -------------------------------

    public static <T> Supplier<T> stage(Supplier<T> f) {
        long[] context = f == null ? null : any();
        return context == null ? f : new Supplied<>(context, f);
    }

    public static <T, R> Function<T, R> stage(Function<T, R> f) {
        long[] context = f == null ? null : any();
        return context == null ? f : new Applied<>(context, f);
    }

    public static <T, U, R> BiFunction<T, U, R> stage(BiFunction<T, U, R> f) {
        long[] context = f == null ? null : any();
        return context == null ? f : new Applied2<>(context, f);
    }

    public static <T> Consumer<T> stage(Consumer<T> f) {
        long[] context = f == null ? null : any();
        return context == null ? f : new Accepted<>(context, f);
    }

    public static <T, U> BiConsumer<T, U> stage(BiConsumer<T, U> f) {
        long[] context = f == null ? null : any();
        return context == null ? f : new Accepted2<>(context, f);
    }

    public static Runnable stage(Runnable f) {
        long[] context = f == null ? null : any();
        return context == null ? f : new Ran(context, f);
    }

    // --- tasks of executors: FutureTask and ForkJoinTask hold what was submitted ------------------

    public static Runnable task(Runnable work) {
        if (work == null || work instanceof Ran) return work;
        long[] context = known();
        return context == null ? work : new Ran(context, work);
    }

    public static <V> Callable<V> task(Callable<V> work) {
        if (work == null || work instanceof Called) return work;
        long[] context = known();
        return context == null ? work : new Called<>(context, work);
    }

    public static Runnable scheduled(Runnable work) {
        long[] context = new long[SIZE];
        return work == null || Natives.captureScheduled(context) <= UNKNOWN ? work : new Ran(context, work);
    }

    public static <V> Callable<V> scheduled(Callable<V> work) {
        long[] context = new long[SIZE];
        return work == null || Natives.captureScheduled(context) <= UNKNOWN ? work : new Called<>(context, work);
    }

    // --- ThreadPoolExecutor ----------------------------------------------------------------------

    /** execute(): the pool keeps the wrapper. The methods below unwrap what the pool's user gets to see. */
    public static Runnable executed(ThreadPoolExecutor pool, Runnable work) {
        if (work == null || work instanceof Ran || work instanceof FutureTask || work instanceof Comparable
            || work instanceof CompletableFuture.AsynchronousCompletionTask
            || pool.getQueue() instanceof PriorityBlockingQueue) {
            return work;
        }
        long[] context = known();
        return context == null ? work : new Ran(context, work);
    }

    private static Runnable plain(Runnable work) {
        return work instanceof Ran ? ((Ran) work).inner : work;
    }

    public static void beforeExecute(ThreadPoolExecutor pool, Thread thread, Runnable work) {
        pool.beforeExecute(thread, plain(work));
    }

    public static void run(Runnable work) {
        Natives.forget();
        work.run();
    }

    public static void afterExecute(ThreadPoolExecutor pool, Runnable work, Throwable thrown) {
        pool.afterExecute(plain(work), thrown);
    }

    public static void rejectedExecution(RejectedExecutionHandler handler, Runnable work, ThreadPoolExecutor pool) {
        handler.rejectedExecution(plain(work), pool);
    }

    /** remove(): equals the work that is sought, also inside its wrapper. */
    static final class Sought implements Runnable {
        private final Runnable inner;

        Sought(Runnable inner) {
            this.inner = inner;
        }

        public void run() {
            inner.run();
        }

        public boolean equals(Object other) {
            return other != null && inner.equals(other instanceof Ran ? ((Ran) other).inner : other);
        }

        public int hashCode() {
            return inner.hashCode();
        }
    }

    public static Runnable sought(Runnable work) {
        return work == null || work instanceof FutureTask || work instanceof Comparable ? work : new Sought(work);
    }

    // --- ForkJoinTask: forked tasks are objects of their own, remembered by identity ---------------

    static final class Key extends java.lang.ref.WeakReference<Object> {
        private final int hash;

        Key(Object task, java.lang.ref.ReferenceQueue<Object> queue) {
            super(task, queue);
            hash = System.identityHashCode(task);
        }

        public int hashCode() {
            return hash;
        }

        public boolean equals(Object other) {
            if (this == other) return true;
            Object task = get();
            return task != null && other instanceof Key && ((Key) other).get() == task;
        }
    }

    private static final java.lang.ref.ReferenceQueue<Object> gone = new java.lang.ref.ReferenceQueue<>();
    private static final ConcurrentHashMap<Key, long[]> forked = new ConcurrentHashMap<>();

    public static void forking(ForkJoinTask<?> task) {
        long[] context = any();
        if (context == null) return;
        for (Object key; (key = gone.poll()) != null; ) forked.remove(key);
        forked.put(new Key(task, gone), context);
    }

    public static boolean exec(ForkJoinTask<?> task) {
        long[] context = forked.isEmpty() ? null : forked.remove(new Key(task, null));
        if (context == null) return task.exec();
        long[] previous = enter(context);
        try {
            return task.exec();
        } finally {
            leave(previous);
        }
    }

    public static ForkJoinTask<?> submitted(ForkJoinTask<?> task) {
        if (task != null) forking(task);
        return task;
    }

    /** A worker of a ForkJoinPool begins a task of a queue. */
    public static int begin(ForkJoinTask<?> task) {
        Natives.forget();
        return task.doExec();
    }

    // --- Timer: a task is scheduled once, and keeps its context -----------------------------------

    public static TimerTask timed(TimerTask task) {
        long[] context = new long[SIZE];
        if (task != null && Natives.captureScheduled(context) > UNKNOWN) forked.put(new Key(task, gone), context);
        return task;
    }

    public static void run(TimerTask task) {
        long[] context = forked.get(new Key(task, null));
        long[] previous = enter(context == null ? NO_CONTEXT : context);
        try {
            task.run();
        } finally {
            leave(previous);
        }
    }

    // --- the rest --------------------------------------------------------------------------------

    /** Takes from a queue inside a client. It holds no tasks, so the thread keeps its context. */
    public static Object take(BlockingQueue<?> queue) throws InterruptedException {
        long[] previous = enter(NO_CONTEXT);
        try {
            return queue.take();
        } finally {
            leave(previous);
        }
    }
}
