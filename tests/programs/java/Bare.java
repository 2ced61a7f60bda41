import com.sun.net.httpserver.HttpServer;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.URL;

/** The JDK's server and client, and nothing else: Bare PORT. For GET /NAME it calls BACK/NAME/0 and then BACK/NAME/1. */
public class Bare {
  public static void main(String[] arguments) throws Exception {
    HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])), 64);
    server.setExecutor(task -> new Thread(task).start());
    server.createContext("/", exchange -> {
      for (int number = 0; number < 2; ++number) {
        URL url = new URL("http://" + System.getenv("BACK") + exchange.getRequestURI() + "/" + number);
        try (InputStream body = url.openStream()) {
          body.readAllBytes();
        }
      }
      exchange.sendResponseHeaders(200, -1);
      exchange.close();
    });
    server.start();
  }
}
