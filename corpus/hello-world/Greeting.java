import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;

/** What both services share: an HTTP server on loopback that answers a GET with a status and a text. */
final class Greeting {
  record Answer(int status, String text) {}

  interface Handler {
    Answer answer(String path, String query) throws Exception;
  }

  static void serve(int port, Handler handler) throws IOException {
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
    server.createContext("/", exchange -> reply(exchange, handler));
    server.setExecutor(Executors.newCachedThreadPool());
    server.start();
  }

  /** The value of the argument `name` of a query, or null. */
  static String argument(String query, String name) {
    if (query == null) return null;
    for (String pair : query.split("&")) {
      if (pair.startsWith(name + "=")) return pair.substring(name.length() + 1);
    }
    return null;
  }

  private static void reply(HttpExchange exchange, Handler handler) throws IOException {
    Answer answer;
    try {
      answer =
          handler.answer(exchange.getRequestURI().getPath(), exchange.getRequestURI().getQuery());
    } catch (Exception error) {
      answer = new Answer(500, error.toString());
    }
    byte[] body = answer.text().getBytes(StandardCharsets.UTF_8);
    exchange.sendResponseHeaders(answer.status(), body.length == 0 ? -1 : body.length);
    exchange.getResponseBody().write(body);
    exchange.close();
  }
}
