package java.util.concurrent;

import filibuster.Natives;
import java.io.Closeable;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;

/**
 * What classes of Jetty and Tomcat are edited to call (edits.cc). Loaders of the program load those classes, maybe
 * several loaders. So their instances are of type Object here.
 *
 * Their threads read a request and serve it at once, then serve other connections, or wait for all of them (Jetty's take
 * turns in that). So a thread works for the request that it read while it serves that connection, and no longer.
 */
public final class FilibusterServer {
    private FilibusterServer() {}

    private static final MethodHandles.Lookup LOOKUP = MethodHandles.lookup();

    /** A method without arguments of one class of a server, for whatever extends it. */
    private static final class Serving extends ClassValue<MethodHandle> {
        private final String type, name;

        Serving(String type, String name) {
            this.type = type;
            this.name = name;
        }

        protected MethodHandle computeValue(Class<?> receiver) {
            Class<?> at = receiver;
            while (!at.getName().equals(type)) at = at.getSuperclass();
            if (at != receiver) return get(at);
            try {
                Method method = at.getDeclaredMethod(name);
                method.setAccessible(true);
                return LOOKUP.unreflect(method).asType(MethodType.methodType(void.class, Object.class));
            } catch (ReflectiveOperationException problem) {
                throw new IllegalStateException(problem); // found by ready()
            }
        }

        /** Jetty and Tomcat let nothing through of what a servlet throws. */
        void serve(Object server) throws Throwable {
            long[] before = new long[Filibuster.SIZE];
            Natives.serve(before);
            try {
                get(server.getClass()).invokeExact(server);
            } finally {
                Natives.served(before);
            }
        }
    }

    private static final Serving CONNECTIONS = new Serving("org.eclipse.jetty.io.AbstractConnection", "onFillable");
    private static final Serving PROCESSORS = new Serving("org.apache.tomcat.util.net.SocketProcessorBase", "doRun");

    /** Are the methods there that this class will call? It is asked before the class is edited. */
    static boolean ready(Class<?> type) {
        switch (type.getSimpleName()) {
            case "ReadCallback": return CONNECTIONS.get(type.getEnclosingClass()) != null;
            case "HttpConnection": return CONNECTIONS.get(type) != null;
            case "SocketProcessorBase": return PROCESSORS.get(type) != null;
            default: return true;
        }
    }

    /** Jetty: there is something to read on a connection. */
    public static void onFillable(Object connection) throws Throwable {
        CONNECTIONS.serve(connection);
    }

    /** Tomcat: the same. */
    public static void doRun(Object processor) throws Throwable {
        PROCESSORS.serve(processor);
    }

    /** Work that is given to the server's own pool. A connection that is given begins something of its own. */
    public static Runnable given(Runnable work) {
        return work instanceof Closeable ? work : Filibuster.task(work);
    }
}
