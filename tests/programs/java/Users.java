// A service of the tests: an HTTP server whose handlers call /leaf/<kind>/<id>, on its own second port,
// in one of the ways in which Java programs make calls. `id` is repeated, so that a test can tell which
// request a call belongs to.
//
//   java Users PORT LEAF_PORT LEAF_URL SERVER [BACKGROUND_MS]
//     BACKGROUND_MS: how often the process calls by itself; 0: never
//     SERVER: pool:N (a fixed pool) or inline (no executor at all)
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URL;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

public class Users {
    static String leaf;
    static final HttpClient client = HttpClient.newHttpClient();
    static final ExecutorService pool = Executors.newFixedThreadPool(3);
    static final ScheduledExecutorService later = Executors.newScheduledThreadPool(2);
    static final BlockingQueue<Runnable> jobs = new LinkedBlockingQueue<>();

    static int get(String path) throws IOException {
        HttpURLConnection call = (HttpURLConnection) new URL(leaf + path).openConnection();
        int status = call.getResponseCode();
        try (InputStream body = status < 400 ? call.getInputStream() : call.getErrorStream()) {
            if (body != null) {  // an error without a body has none
                body.readAllBytes();
            }
        }
        return status;
    }

    static HttpRequest request(String path) {
        return HttpRequest.newBuilder(URI.create(leaf + path)).build();
    }

    static CompletableFuture<Integer> getAsync(String path) {
        return client.sendAsync(request(path), BodyHandlers.ofString()).thenApply(r -> r.statusCode());
    }

    // --- the ways ------------------------------------------------------------------------------

    static int twoSites(String id) throws IOException {
        int first = get("/leaf/two/" + id);  // site two-first
        int second = get("/leaf/two/" + id);  // site two-second
        return Math.max(first, second);
    }

    static int chain(String id) {
        return getAsync("/leaf/chain/" + id)  // site chain-first
            .thenCompose(one -> getAsync("/leaf/chain/" + id))  // site chain-second
            .thenCompose(two -> getAsync("/leaf/chain/" + id).thenApply(three -> Math.max(two, three)))  // site chain-third
            .join();
    }

    static int supply(String id) throws Exception {
        CompletableFuture<Integer> first = CompletableFuture.supplyAsync(() -> unchecked("/leaf/supply/" + id));
        CompletableFuture<Integer> second = CompletableFuture.supplyAsync(() -> unchecked("/leaf/supply/" + id), pool);
        return first.thenCombineAsync(second, (a, b) -> Math.max(a, Math.max(b, unchecked("/leaf/supply/" + id)))).get();
    }

    static int unchecked(String path) {
        try {
            return get(path);
        } catch (IOException e) {
            throw new CompletionException(e);
        }
    }

    static int thread(String id) throws Exception {
        int[] status = {0};
        Thread own = new Thread() {
            @Override
            public void run() {
                status[0] = unchecked("/leaf/thread/" + id);  // site thread
            }
        };
        own.start();
        own.join();
        return status[0];
    }

    static int timer(String id) throws Exception {
        CompletableFuture<Integer> result = new CompletableFuture<>();
        later.schedule(() -> result.complete(unchecked("/leaf/timer/" + id)), 1, TimeUnit.MILLISECONDS);  // site timer
        return result.get();
    }

    static int parallel(String id) {
        return IntStream.range(0, 4).parallel().map(i -> unchecked("/leaf/parallel/" + id)).max().getAsInt();  // site parallel
    }

    static int handed(String id) throws Exception {
        CompletableFuture<Integer> result = new CompletableFuture<>();
        jobs.put(() -> result.complete(unchecked("/leaf/handed/" + id)));
        return result.get();
    }

    static void serve(HttpExchange exchange) throws IOException {
        String[] path = exchange.getRequestURI().getPath().split("/");
        String kind = path[1];
        String id = path[2];
        if (kind.equals("async")) {  // answers after the handler has returned
            getAsync("/leaf/async/" + id).whenComplete((status, error) -> answer(exchange, error == null ? status : 502));  // site async
            return;
        }
        int status;
        try {
            switch (kind) {
                case "blocking": status = get("/leaf/blocking/" + id); break;  // site blocking
                case "two": status = twoSites(id); break;
                case "send": status = client.send(request("/leaf/send/" + id), BodyHandlers.ofString()).statusCode(); break;  // site send
                case "chain": status = chain(id); break;
                case "pool": status = pool.submit(() -> get("/leaf/pool/" + id)).get(); break;  // site pool
                case "execute": status = executed(id); break;
                case "supply": status = supply(id); break;
                case "thread": status = thread(id); break;
                case "timer": status = timer(id); break;
                case "parallel": status = parallel(id); break;
                case "handed": status = handed(id); break;
                case "self": status = self(id, Integer.parseInt(path[3])); break;
                default: status = 404;
            }
        } catch (Exception e) {
            status = 502;
        }
        answer(exchange, status);
    }

    static int executed(String id) throws Exception {
        CompletableFuture<Integer> result = new CompletableFuture<>();
        pool.execute(() -> result.complete(unchecked("/leaf/execute/" + id)));  // site execute
        return result.get();
    }

    // Calls the service itself, `depth` times.
    static int self(String id, int depth) throws Exception {
        return depth == 0 ? get("/leaf/self/" + id) : getAsync("/self/" + id + "/" + (depth - 1)).get();
    }

    static void answer(HttpExchange exchange, int status) {
        try (exchange) {
            exchange.sendResponseHeaders(status, 2);
            exchange.getResponseBody().write("ok".getBytes());
        } catch (IOException e) {
            // the caller went away
        }
    }

    static HttpServer server(int port) throws IOException {
        return HttpServer.create(new InetSocketAddress("127.0.0.1", port), 64);
    }

    public static void main(String[] arguments) throws Exception {
        leaf = arguments[2];
        HttpServer server = server(Integer.parseInt(arguments[0]));
        server.createContext("/", Users::serve);
        if (arguments[3].startsWith("pool:")) {
            server.setExecutor(Executors.newFixedThreadPool(Integer.parseInt(arguments[3].substring(5))));
        }
        HttpServer leaves = server(Integer.parseInt(arguments[1]));
        leaves.createContext("/leaf", exchange -> {
            try {
                Thread.sleep(5);  // what the work of a service takes, so that requests overlap
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            answer(exchange, 200);
        });
        leaves.createContext("/self", Users::serve);
        leaves.setExecutor(Executors.newCachedThreadPool());
        Thread worker = new Thread(() -> {
            while (true) {
                try {
                    jobs.take().run();
                } catch (InterruptedException e) {
                    return;
                }
            }
        });
        worker.setDaemon(true);
        worker.start();
        leaves.start();
        server.start();
        int period = arguments.length > 4 ? Integer.parseInt(arguments[4]) : 0;
        if (period > 0) {
            later.scheduleAtFixedRate(() -> unchecked("/leaf/background/0"), 0, period, TimeUnit.MILLISECONDS);
            new Timer(true).schedule(new TimerTask() {
                @Override
                public void run() {
                    unchecked("/leaf/background/1");
                }
            }, 0, period);
        }
        System.out.println("serving");
    }
}
