import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;

/** The service of tests/integration/runtimes/server.py: Matrix CLIENT PORT BACK. CLIENT: url (HttpURLConnection), send, async. */
public class Matrix {
  static final byte[] BODY = "name=value&".repeat(20).getBytes(StandardCharsets.UTF_8);
  static String client;
  static HttpClient http;

  static void byConnection(String url, int kind) throws IOException {
    HttpURLConnection connection = (HttpURLConnection) URI.create(url).toURL().openConnection();
    if (kind != 0) {
      connection.setRequestMethod("POST");
      connection.setDoOutput(true);
      if (kind == 2) connection.setFixedLengthStreamingMode(BODY.length);  // the head goes out first
      try (OutputStream out = connection.getOutputStream()) {
        out.write(BODY);
      }
    }
    if (connection.getResponseCode() != 200) throw new IOException(url);
    connection.getInputStream().readAllBytes();
  }

  static void call(String url, int kind) throws Exception {
    if (client.equals("url")) {
      byConnection(url, kind);
      return;
    }
    HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url)).version(HttpClient.Version.HTTP_1_1);
    if (kind != 0) request.POST(HttpRequest.BodyPublishers.ofByteArray(BODY));
    HttpResponse<Void> response = client.equals("send")
        ? http.send(request.build(), HttpResponse.BodyHandlers.discarding())
        : http.sendAsync(request.build(), HttpResponse.BodyHandlers.discarding()).get();
    if (response.statusCode() != 200) throw new IOException(url);
  }

  public static void main(String[] arguments) throws Exception {
    client = arguments[0];
    int port = Integer.parseInt(arguments[1]);
    String back = arguments[2];
    http = HttpClient.newHttpClient();
    HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 64);
    server.setExecutor(Executors.newFixedThreadPool(32));
    server.createContext("/", exchange -> {
      exchange.getRequestBody().readAllBytes();
      String path = exchange.getRequestURI().getPath();
      List<String> urls = new ArrayList<>(List.of(back + path + "/0"));
      if (!path.endsWith("/self")) {
        urls.add("http://127.0.0.1:" + port + path + "/self");
        urls.add(back + path + "/1");
      }
      int first = path.chars().filter(Character::isDigit).map(digit -> digit - '0').sum();
      int status = 200;
      try {
        for (int n = 0; n < urls.size(); ++n) call(urls.get(n), (first + n) % 3);
      } catch (Exception problem) {
        problem.printStackTrace();
        status = 500;
      }
      exchange.sendResponseHeaders(status, -1);
      exchange.close();
    });
    server.start();
    for (int number = 0;; ++number) {
      try {
        byConnection(back + "/background/" + number, 0);
      } catch (IOException nobodyThere) {
        // Later, perhaps.
      }
      Thread.sleep(5);
    }
  }
}
