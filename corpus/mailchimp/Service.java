import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;

/** What the services of this application share: an HTTP server on loopback, and a client with a timeout. */
final class Service {
  record Answer(int status, String text) {}

  interface Handler {
    Answer answer(String method, String path) throws IOException;
  }

  private static final int TIMEOUT = 500; // ms, to connect and to read

  private Service() {}

  static HttpServer serve(int port, Handler handler) throws IOException {
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
    server.createContext("/", exchange -> reply(exchange, handler));
    server.setExecutor(Executors.newCachedThreadPool());
    server.start();
    return server;
  }

  /** Asks `url`; an IOException when there is no answer. A status is an answer, whichever it is. */
  static Answer ask(String method, String url) throws IOException {
    return ask(method, url, TIMEOUT);
  }

  static Answer ask(String method, String url, int timeout) throws IOException {
    HttpURLConnection connection = (HttpURLConnection) new URL(url).openConnection();
    connection.setRequestMethod(method);
    connection.setConnectTimeout(timeout);
    connection.setReadTimeout(timeout);
    int status = connection.getResponseCode();
    if (status < 0) throw new IOException("no HTTP answer from " + url);
    try (InputStream body =
        status >= 400 ? connection.getErrorStream() : connection.getInputStream()) {
      byte[] bytes = body == null ? new byte[0] : body.readAllBytes();
      return new Answer(status, new String(bytes, StandardCharsets.UTF_8));
    }
  }

  private static void reply(HttpExchange exchange, Handler handler) throws IOException {
    String path = exchange.getRequestURI().getPath();
    Answer answer =
        path.equals("/health")
            ? new Answer(200, "")
            : handler.answer(exchange.getRequestMethod(), path);
    byte[] body = answer.text().getBytes(StandardCharsets.UTF_8);
    // Each request has a connection of its own: the JDK's client sends a request again by itself when a
    // connection that it kept turns out to be closed.
    exchange.getResponseHeaders().set("Connection", "close");
    exchange.sendResponseHeaders(answer.status(), body.length == 0 ? -1 : body.length);
    exchange.getResponseBody().write(body);
    exchange.close();
  }
}
