package java.util.concurrent;

import filibuster.Natives;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.ref.ReferenceQueue;
import java.lang.reflect.Field;
import java.lang.reflect.Method;

/**
 * What classes of grpc-java are edited to call (edits.cc). Loaders of the program load those classes, maybe several
 * loaders. So their instances are of type Object here, and are asked by reflection.
 *
 * A call is written by an event loop, and maybe made again by a timer. Where it is made and what it is made for travel in
 * its metadata, from its start to the socket, where the library takes them out. A call that came in has an
 * io.grpc.Context, which all its callbacks run with: our own context goes along with that.
 */
public final class FilibusterGrpc {
    private FilibusterGrpc() {}

    private static final String FIELD = "x-filibuster";
    private static final int RUNTIME_SIZE = 100; // core/rpc/header_field.h kRuntimeValueSize
    private static final String BODY_FOLLOWS = "2", BODY_IN_PIECES = "3"; // RuntimeField::Body
    private static final long REQUEST = 2; // TaskContext::State::kRequest
    private static final int MAX_ANCESTORS = 32;
    private static final long[] NOTHING = {1, 0, 0, 0, 0}; // TaskContext::State::kNothing
    private static final MethodHandles.Lookup LOOKUP = MethodHandles.lookup();

    /** May we ask classes of this package for what is not public? It is asked before the class is edited. */
    public static boolean ready(Class<?> type) {
        try {
            if (!type.getName().startsWith("io.grpc.")) return FilibusterServer.ready(type);
            if (!type.getModule().isOpen(type.getPackageName(), FilibusterGrpc.class.getModule())) return false;
            if (type.getSimpleName().equals("ContextRunnable")) CALLBACKS.get(type).check();
            return true;
        } catch (Throwable problem) {
            return false;
        }
    }

    // --- io.grpc.Metadata ------------------------------------------------------------------------

    private static final class Metadata {
        private final MethodHandle get, put, discard;

        Metadata(Class<?> type) throws ReflectiveOperationException {
            ClassLoader loader = type.getClassLoader();
            Class<?> keys = Class.forName("io.grpc.Metadata$Key", false, loader);
            Class<?> marshallers = Class.forName("io.grpc.Metadata$AsciiMarshaller", false, loader);
            Object text = type.getField("ASCII_STRING_MARSHALLER").get(null);
            Object key = keys.getMethod("of", String.class, marshallers).invoke(null, FIELD, text);
            get = of(type.getMethod("get", keys), key).asType(MethodType.methodType(String.class, Object.class));
            put = of(type.getMethod("put", keys, Object.class), key)
                .asType(MethodType.methodType(void.class, Object.class, String.class));
            discard = of(type.getMethod("discardAll", keys), key).asType(MethodType.methodType(void.class, Object.class));
        }

        private static MethodHandle of(Method method, Object key) throws IllegalAccessException {
            method.setAccessible(true);
            return MethodHandles.insertArguments(LOOKUP.unreflect(method), 1, key);
        }

        /** Our field; the last one counts. */
        String last(Object headers) throws Throwable {
            return (String) get.invokeExact(headers);
        }

        void replace(Object headers, String field) throws Throwable {
            discard.invokeExact(headers);
            if (field != null) put.invokeExact(headers, field);
        }
    }

    private static final class MetadataClasses extends ClassValue<Metadata> {
        protected Metadata computeValue(Class<?> type) {
            try {
                return new Metadata(type);
            } catch (ReflectiveOperationException | RuntimeException problem) {
                return null;
            }
        }
    }

    private static final MetadataClasses METADATA = new MetadataClasses();

    // --- calls that are made ----------------------------------------------------------------------

    /** DelayedClientCall.start: its channel is not ready, or not open; ClientCallImpl.start follows. */
    public static void delayed(Object headers) {
        try {
            Metadata metadata = METADATA.get(headers.getClass());
            if (metadata == null) return;
            String carried = metadata.last(headers);
            if (carried != null && carried.length() == RUNTIME_SIZE) return;
            String field = Natives.grpcField(carried);
            if (field != null) metadata.replace(headers, field);
        } catch (Throwable problem) {
            // The call goes out as it is.
        }
    }

    /** ClientCallImpl.start: on the thread that makes the call, below all interceptors, unless it was delayed. */
    public static void start(Object call, Object headers) {
        try {
            Metadata metadata = METADATA.get(headers.getClass());
            if (metadata == null) return;
            String field = metadata.last(headers);
            if (field == null || field.length() != RUNTIME_SIZE) {
                field = Natives.grpcField(field);
                if (field == null) return;
            }
            Calls calls = CALLS.get(call.getClass());
            // Netty may write the head before this thread hands over the message, or after it has handed over some.
            if (calls != null) field = (calls.hasOneMessage(call) ? BODY_FOLLOWS : BODY_IN_PIECES) + field.substring(1);
            metadata.replace(headers, field);
            long[] context = new long[Filibuster.SIZE];
            Natives.received(field, context);
            if (calls != null && (context[0] & 3) == REQUEST) calls.workFor(call, context);
        } catch (Throwable problem) {
            // The call goes out as it is.
        }
    }

    /** Netty writes the head of a call. Our field is removed if the head will be encrypted: we could not take it out. */
    public static void leaving(Object headers, Object scheme) {
        try {
            if ("http".equals(String.valueOf(scheme))) return;
            Metadata metadata = METADATA.get(headers.getClass());
            String carried = metadata == null ? null : metadata.last(headers);
            if (carried != null && carried.length() == RUNTIME_SIZE) metadata.replace(headers, null);
        } catch (Throwable problem) {
            // The call goes out as it is.
        }
    }

    private static final class Callback implements Executor {
        private final long[] context;
        private final Executor inner;

        Callback(long[] context, Executor inner) {
            this.context = context;
            this.inner = inner;
        }

        public void execute(Runnable work) {
            inner.execute(work == null ? null : new Filibuster.Ran(context, work));
        }

        public String toString() {
            return inner.toString();
        }
    }

    /** What we read and set in a ClientCallImpl. */
    private static final class Calls {
        private final MethodHandle executor, setExecutor, hasOneMessage;

        Calls(Class<?> type) throws ReflectiveOperationException {
            Field field = type.getDeclaredField("callExecutor");
            field.setAccessible(true);
            executor = LOOKUP.unreflectGetter(field).asType(MethodType.methodType(Executor.class, Object.class));
            setExecutor = LOOKUP.unreflectSetter(field).asType(MethodType.methodType(void.class, Object.class, Executor.class));
            Field method = type.getDeclaredField("method");
            method.setAccessible(true);
            Method kind = method.getType().getMethod("getType");
            Method one = kind.getReturnType().getMethod("clientSendsOneMessage");
            kind.setAccessible(true);
            one.setAccessible(true);
            hasOneMessage = MethodHandles.filterReturnValue(
                MethodHandles.filterReturnValue(LOOKUP.unreflectGetter(method), LOOKUP.unreflect(kind)), LOOKUP.unreflect(one))
                .asType(MethodType.methodType(boolean.class, Object.class));
        }

        boolean hasOneMessage(Object call) throws Throwable {
            return (boolean) hasOneMessage.invokeExact(call);
        }

        /** From now on, the callbacks of the call run in the context that the call was made in. */
        void workFor(Object call, long[] context) throws Throwable {
            setExecutor.invokeExact(call, (Executor) new Callback(context, (Executor) executor.invokeExact(call)));
        }
    }

    private static final class CallClasses extends ClassValue<Calls> {
        protected Calls computeValue(Class<?> type) {
            try {
                return new Calls(type);
            } catch (ReflectiveOperationException | RuntimeException problem) {
                return null;
            }
        }
    }

    private static final CallClasses CALLS = new CallClasses();

    /** SynchronizationContext: the channel's own work, done by whichever thread happened to come. */
    public static void internal(Runnable work) {
        long[] previous = Filibuster.enter(NOTHING);
        try {
            work.run();
        } finally {
            Filibuster.leave(previous);
        }
    }

    // --- calls that come in -----------------------------------------------------------------------

    private static final ReferenceQueue<Object> gone = new ReferenceQueue<>();
    private static final ConcurrentHashMap<Filibuster.Key, long[]> contexts = new ConcurrentHashMap<>();
    private static final ThreadLocal<long[]> received = new ThreadLocal<>();

    /** ServerImpl is told of a call; `serving` follows on the same thread. */
    public static void received(Object headers) {
        try {
            Metadata metadata = METADATA.get(headers.getClass());
            long[] context = new long[Filibuster.SIZE];
            if (Natives.received(metadata == null ? null : metadata.last(headers), context) == Filibuster.NOT_EXECUTING) {
                received.remove();
            } else {
                received.set(context);
            }
        } catch (Throwable problem) {
            received.remove();
        }
    }

    /** ServerImpl makes the io.grpc.Context that the callbacks of that call run with. */
    public static void serving(Object context) {
        long[] words = received.get();
        if (words == null) return;
        received.remove();
        for (Object key; (key = gone.poll()) != null; ) contexts.remove(key);
        contexts.put(new Filibuster.Key(context, gone), words);
    }

    /** ContextRunnable.run: a callback, of a call that came in or of one that was made for it. */
    public static void run(Object callback) throws Throwable {
        Callbacks callbacks = CALLBACKS.get(callback.getClass());
        long[] context = contexts.isEmpty() ? null : callbacks.contextOf(callback);
        if (context == null) {
            callbacks.run.invokeExact(callback);
            return;
        }
        long[] previous = Filibuster.enter(context);
        try {
            callbacks.run.invokeExact(callback);
        } finally {
            Filibuster.leave(previous);
        }
    }

    /** What we read in an io.grpc.internal.ContextRunnable and its io.grpc.Context. */
    private static final class Callbacks {
        private MethodHandle run, context, ancestor;

        Callbacks(Class<?> type) {
            try {
                while (!type.getName().equals("io.grpc.internal.ContextRunnable")) type = type.getSuperclass();
                Method method = type.getDeclaredMethod("runInContext");
                method.setAccessible(true);
                run = LOOKUP.unreflect(method).asType(MethodType.methodType(void.class, Object.class));
                Field field = type.getDeclaredField("context");
                context = getter(field);
                // The context of a call is cancellable, and the contexts that are derived from it refer to it.
                ancestor = getter(field.getType().getDeclaredField("cancellableAncestor"));
            } catch (ReflectiveOperationException | RuntimeException problem) {
                // Without one of the fields, the context is not known. Without the method, check() refuses the edit.
            }
        }

        private static MethodHandle getter(Field field) throws IllegalAccessException {
            field.setAccessible(true);
            return LOOKUP.unreflectGetter(field).asType(MethodType.methodType(Object.class, Object.class));
        }

        void check() {
            if (run == null) throw new IllegalStateException();
        }

        long[] contextOf(Object callback) throws Throwable {
            if (context == null) return null;
            Object at = (Object) context.invokeExact(callback);
            for (int i = 0; at != null && i < MAX_ANCESTORS; ++i) {
                long[] words = contexts.get(new Filibuster.Key(at, null));
                if (words != null || ancestor == null) return words;
                at = (Object) ancestor.invokeExact(at);
            }
            return null;
        }
    }

    private static final class CallbackClasses extends ClassValue<Callbacks> {
        protected Callbacks computeValue(Class<?> type) {
            return new Callbacks(type);
        }
    }

    private static final CallbackClasses CALLBACKS = new CallbackClasses();
}
