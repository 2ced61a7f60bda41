package jdk.internal.net.http;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Filibuster;
import java.util.function.BiPredicate;

/**
 * The request of a call of java.net.http, with one field more: what caused it and where it was made.
 * The client writes the request from other threads, where neither can be told. The library, which sees
 * the bytes, reads the field and writes its own over it.
 */
final class FilibusterRequest extends HttpRequest {
    private static final String NAME = "x-filibuster";

    private static final class All implements BiPredicate<String, String> {
        public boolean test(String name, String value) {
            return true;
        }
    }

    private final HttpRequest inner;
    private final HttpHeaders headers;

    private FilibusterRequest(HttpRequest inner, HttpHeaders headers) {
        this.inner = inner;
        this.headers = headers;
    }

    static HttpRequest with(HttpClientImpl client, HttpRequest request) {
        // A WebSocket handshake must stay one; without a scheme the client complains, as it should.
        if (request == null || request instanceof HttpRequestImpl) return request;
        try {
            URI uri = request.uri();
            if (uri == null) return request;
            boolean seen = "http".equalsIgnoreCase(uri.getScheme())
                || "https".equalsIgnoreCase(uri.getScheme()) && FilibusterClient.isSeen(client, uri);
            if (!seen) return request;
            String field = Filibuster.field(request.headers().firstValue(NAME).orElse(null));
            if (field == null) return request;
            Map<String, List<String>> all = new HashMap<>(request.headers().map());
            for (String name : request.headers().map().keySet()) {
                if (NAME.equalsIgnoreCase(name)) all.remove(name);
            }
            List<String> values = new ArrayList<>();
            values.add(field);
            all.put(NAME, values);
            return new FilibusterRequest(request, HttpHeaders.of(all, new All()));
        } catch (RuntimeException e) {
            return request;
        }
    }

    public Optional<BodyPublisher> bodyPublisher() {
        return inner.bodyPublisher();
    }

    public String method() {
        return inner.method();
    }

    public Optional<Duration> timeout() {
        return inner.timeout();
    }

    public boolean expectContinue() {
        return inner.expectContinue();
    }

    public URI uri() {
        return inner.uri();
    }

    public Optional<HttpClient.Version> version() {
        return inner.version();
    }

    public HttpHeaders headers() {
        return headers;
    }
}
