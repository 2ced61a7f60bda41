package jdk.internal.net.http;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.net.Proxy;
import java.net.ProxySelector;
import java.net.URI;
import java.net.http.HttpClient;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.Filibuster;

/**
 * Does the library see what a client sends over TLS? Only then it takes the field of FilibusterRequest out again. It
 * does not see connections that were open before it was there, those of another TLS than the JDK's, and those in the
 * tunnel of a proxy.
 */
final class FilibusterClient {
    private FilibusterClient() {}

    private static final MethodHandle POOL, STREAMS;

    static {
        MethodHandle pool = null, streams = null;
        try {
            pool = lookup(ConnectionPool.class).findGetter(ConnectionPool.class, "sslPool", HashMap.class);
            streams = lookup(Http2ClientImpl.class).findGetter(Http2ClientImpl.class, "connections", Map.class);
        } catch (ReflectiveOperationException unknown) {
            // Nothing is known of such a client.
        }
        POOL = pool;
        STREAMS = streams;
    }

    private static MethodHandles.Lookup lookup(Class<?> type) throws IllegalAccessException {
        return MethodHandles.privateLookupIn(type, MethodHandles.lookup());
    }

    /** Clients that had no connection over TLS when the library began to follow them. */
    private static final Set<HttpClientImpl> CLIENTS = Collections.newSetFromMap(new WeakHashMap<>());

    static boolean isSeen(HttpClientImpl client, URI uri) {
        if (POOL == null || STREAMS == null || !Filibuster.followsTls()) return false;
        try {
            if (!"SunJSSE".equals(client.sslContext().getProvider().getName()) || !isDirect(client, uri)) return false;
            synchronized (CLIENTS) {
                return CLIENTS.contains(client) || isNew(client) && CLIENTS.add(client);
            }
        } catch (Throwable problem) {
            return false;
        }
    }

    private static boolean isNew(HttpClientImpl client) throws Throwable {
        HashMap<?, ?> pool = (HashMap<?, ?>) (HashMap) POOL.invokeExact(client.connectionPool());
        Map<?, ?> streams = (Map<?, ?>) (Map) STREAMS.invokeExact(client.client2());
        return client.referenceCount() == 0 && pool.isEmpty() && streams.isEmpty();
    }

    /** A selector of the program's own is not asked: it may count how often it is. */
    private static boolean isDirect(HttpClientImpl client, URI uri) {
        ProxySelector own = client.proxy().orElse(null);
        if (own != null) return own == HttpClient.Builder.NO_PROXY;
        ProxySelector common = ProxySelector.getDefault();
        if (common == null) return true;
        if (!common.getClass().getName().equals("sun.net.spi.DefaultProxySelector")) return false;
        for (Proxy proxy : common.select(uri)) {
            if (proxy.type() != Proxy.Type.DIRECT) return false;
        }
        return true;
    }
}
