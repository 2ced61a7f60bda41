// A service of the tests in Jetty or Tomcat: its servlet calls LEAF_URL/<kind>/<id> in one of the ways of servlets.
// `id` is repeated, so that a test can tell which request a call belongs to.
//
//   java Servlets jetty|tomcat PORT LEAF_URL [BACKGROUND_MS]
//     BACKGROUND_MS: how often a task in the server's own pool calls by itself; 0: never
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URL;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionService;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import javax.servlet.AsyncContext;
import javax.servlet.http.HttpServlet;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;

public class Servlets extends HttpServlet {
    static String leaf;
    static Executor serverPool;
    static final ExecutorService pool = Executors.newFixedThreadPool(3);

    static int get(String path) {
        try {
            HttpURLConnection call = (HttpURLConnection) new URL(leaf + path).openConnection();
            int status = call.getResponseCode();
            try (InputStream body = status < 400 ? call.getInputStream() : call.getErrorStream()) {
                if (body != null) body.readAllBytes();
            }
            return status;
        } catch (IOException failed) {
            return 502;
        }
    }

    // In the server's own pool, which another request lent a thread to.
    static int lent(String path) throws Exception {
        CompletableFuture<Integer> status = new CompletableFuture<>();
        serverPool.execute(() -> status.complete(get(path)));
        return status.get();
    }

    // What waits in a queue of the JDK goes on with its own request.
    static int queued(String path) throws Exception {
        CompletionService<Integer> results = new ExecutorCompletionService<>(pool);
        results.submit(() -> get(path));
        return Math.max(results.take().get(), get(path));
    }

    static void answer(HttpServletResponse response, int status) {
        try {
            response.setStatus(status);
            response.getOutputStream().write("ok".getBytes());
        } catch (IOException gone) {
            // the caller went away
        }
    }

    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
        String path = request.getRequestURI();
        String kind = path.split("/")[1];
        Object before = request.getAttribute("status");
        if (before != null) {  // dispatched again
            answer(response, Math.max((Integer) before, get(path)));
            return;
        }
        try {
            switch (kind) {
                case "blocking": answer(response, get(path)); return;
                case "items": response.getOutputStream().write(Kept.items(leaf)); return;
                case "two": answer(response, Math.max(get(path), get(path))); return;
                case "body": request.getInputStream().readAllBytes(); answer(response, get(path)); return;
                case "lent": answer(response, lent(path)); return;
                case "queued": answer(response, queued(path)); return;
                case "started": {
                    AsyncContext async = request.startAsync();
                    async.start(() -> {
                        answer((HttpServletResponse) async.getResponse(), get(path));
                        async.complete();
                    });
                    return;
                }
                case "again": {
                    AsyncContext async = request.startAsync();
                    pool.execute(() -> {
                        request.setAttribute("status", get(path));
                        async.dispatch();
                    });
                    return;
                }
                default: answer(response, 404);
            }
        } catch (Exception failed) {
            answer(response, 502);
        }
    }

    static void beat(int milliseconds) {
        Thread beating = new Thread(() -> {
            for (int i = 0; ; ++i) {
                serverPool.execute(() -> get("/background/0"));
                try {
                    Thread.sleep(milliseconds);
                } catch (InterruptedException over) {
                    return;
                }
            }
        });
        beating.setDaemon(true);
        beating.start();
    }

    static void jetty(int port) throws Exception {
        Server server = new Server(port);
        ServletContextHandler context = new ServletContextHandler();
        ServletHolder holder = new ServletHolder(new Servlets());
        holder.setAsyncSupported(true);
        context.addServlet(holder, "/*");
        server.setHandler(context);
        serverPool = server.getThreadPool();
        server.start();
    }

    static void tomcat(int port) throws Exception {
        File directory = new File("").getAbsoluteFile();
        Tomcat server = new Tomcat();
        server.setBaseDir(directory.getPath());
        server.setPort(port);
        Context context = server.addContext("", directory.getPath());
        Tomcat.addServlet(context, "servlets", new Servlets()).setAsyncSupported(true);
        context.addServletMappingDecoded("/*", "servlets");
        server.start();
        serverPool = server.getConnector().getProtocolHandler().getExecutor();
    }

    public static void main(String[] arguments) throws Exception {
        leaf = arguments[2];
        int port = Integer.parseInt(arguments[1]);
        if (arguments[0].equals("jetty")) {
            jetty(port);
        } else {
            tomcat(port);
        }
        int period = arguments.length > 3 ? Integer.parseInt(arguments[3]) : 0;
        if (period > 0) beat(period);
        System.out.println("serving");
    }
}
