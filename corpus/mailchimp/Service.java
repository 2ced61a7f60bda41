import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.concurrent.Executors;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;

/** What the services of this application share: an HTTP server on loopback, and a client with a timeout. */
final class Service {
  record Answer(int status, String text) {}

  interface Handler {
    Answer answer(String method, String path) throws IOException;
  }

  private static final int TIMEOUT = 500; // ms, to connect and to read

  private Service() {}

  static HttpServer serve(int port, Handler handler) throws IOException {
    HttpServer server = create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
    server.createContext("/", exchange -> reply(exchange, handler));
    server.setExecutor(Executors.newCachedThreadPool());
    server.start();
    return server;
  }

  /** Over TLS if the environment names a key store (PKCS#12), whose password is `password`. */
  private static HttpServer create(InetSocketAddress address) throws IOException {
    String file = System.getenv("TLS_KEYSTORE");
    if (file == null) return HttpServer.create(address, 0);
    char[] password = "password".toCharArray();
    try (FileInputStream bytes = new FileInputStream(file)) {
      KeyStore store = KeyStore.getInstance("PKCS12");
      store.load(bytes, password);
      KeyManagerFactory keys = KeyManagerFactory.getInstance("SunX509");
      keys.init(store, password);
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(keys.getKeyManagers(), null, null);
      HttpsServer server = HttpsServer.create(address, 0);
      server.setHttpsConfigurator(new HttpsConfigurator(context));
      return server;
    } catch (GeneralSecurityException error) {
      throw new IOException(error);
    }
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
