// An HTTPS server that asks the service BACK for each of its answers: Front PORT DIRECTORY (of cert.pem and key.pem)
// CLIENT (url: HttpsURLConnection, http: HttpClient, http2: the same, with HTTP/2 by ALPN).
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.Executors;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLContext;

public class Front {
  interface Client {
    byte[] get(URI uri) throws Exception;
  }

  private static final int PATIENCE_MS = 1000;

  private static Client urlConnection(SSLContext trust) {
    return uri -> {
      HttpsURLConnection connection = (HttpsURLConnection) uri.toURL().openConnection();
      connection.setSSLSocketFactory(trust.getSocketFactory());
      connection.setConnectTimeout(PATIENCE_MS);
      connection.setReadTimeout(PATIENCE_MS);
      try (InputStream body = connection.getInputStream()) {
        return body.readAllBytes();
      }
    };
  }

  private static Client httpClient(SSLContext trust, HttpClient.Version version) {
    HttpClient client = HttpClient.newBuilder().sslContext(trust).version(version).build();
    return uri -> {
      HttpRequest request = HttpRequest.newBuilder(uri).timeout(Duration.ofMillis(PATIENCE_MS)).build();
      HttpResponse<byte[]> answer = client.send(request, HttpResponse.BodyHandlers.ofByteArray());
      if (answer.statusCode() >= 400) throw new IOException("status " + answer.statusCode());
      return answer.body();
    };
  }

  private static void answer(HttpExchange exchange, Client client) throws IOException {
    byte[] body;
    int status = 200;
    try {
      body = client.get(URI.create(System.getenv("BACK") + exchange.getRequestURI().getPath()));
    } catch (Exception failure) {
      body = failure.toString().getBytes();
      status = 503;
    }
    exchange.sendResponseHeaders(status, body.length == 0 ? -1 : body.length);
    exchange.getResponseBody().write(body);
    exchange.close();
  }

  public static void main(String[] arguments) throws Exception {
    SSLContext trust = Certificates.client();
    Client client = arguments[2].equals("url") ? urlConnection(trust)
        : httpClient(trust, arguments[2].equals("http2") ? HttpClient.Version.HTTP_2 : HttpClient.Version.HTTP_1_1);
    HttpsServer server = HttpsServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])), 16);
    server.setHttpsConfigurator(new HttpsConfigurator(Certificates.server(Path.of(arguments[1]))));
    server.createContext("/", exchange -> answer(exchange, client));
    server.setExecutor(Executors.newFixedThreadPool(4));
    server.start();
  }
}
