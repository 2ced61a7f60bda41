// Moves random bytes over TLS, and compares them. Bytes serve PORT DIRECTORY (of cert.pem and key.pem) KIND: an echo, of HTTP, on
// SSLSockets, or by the JDK's server on SSLEngines. Bytes ask PORT KIND THREADS ROUNDS: each thread keeps its SSLSocket, and
// writes in pieces of random sizes; or all share an HttpClient.
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;

public class Bytes {
  private static final int MOST = 200_000, PATIENCE_MS = 5000;

  /** The head of a message; null: the end. */
  private static String head(InputStream from) throws IOException {
    ByteArrayOutputStream head = new ByteArrayOutputStream();
    for (int one; (one = from.read()) >= 0; ) {
      head.write(one);
      String text = head.toString(StandardCharsets.ISO_8859_1);
      if (text.endsWith("\r\n\r\n")) return text;
    }
    return null;
  }

  private static byte[] body(String head, InputStream from) throws IOException {
    String size = head.toLowerCase().split("content-length: ")[1].split("\r")[0];
    return from.readNBytes(Integer.parseInt(size));
  }

  private static void serve(SSLSocket socket) {
    try (socket) {
      InputStream from = socket.getInputStream();
      OutputStream to = socket.getOutputStream();
      for (String head; (head = head(from)) != null; ) {
        byte[] body = body(head, from);
        to.write(("HTTP/1.1 200 OK\r\nContent-Length: " + body.length + "\r\n\r\n").getBytes());
        to.write(body);
      }
    } catch (IOException ended) {
      // Whoever looks whether the port is open ends its connection so.
    }
  }

  private static int ask(int port, int rounds, int seed) throws Exception {
    Random random = new Random(seed);
    try (SSLSocket socket = (SSLSocket) Certificates.client().getSocketFactory().createSocket("localhost", port)) {
      socket.setSoTimeout(PATIENCE_MS);
      InputStream from = socket.getInputStream();
      OutputStream to = socket.getOutputStream();
      for (int round = 0; round < rounds; ++round) {
        byte[] body = new byte[random.nextInt(MOST)];
        random.nextBytes(body);
        // (A head that comes in pieces is not recognised: docs/tls.md.)
        String head = "POST /" + seed + "/" + round + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + body.length + "\r\n\r\n";
        to.write(head.getBytes());
        for (int at = 0; at < body.length; ) {
          int size = Math.min(body.length - at, 1 + random.nextInt(random.nextBoolean() ? 50 : 50_000));
          to.write(body, at, size);
          at += size;
        }
        if (!Arrays.equals(body(head(from), from), body)) throw new IOException("other bytes");
      }
    }
    return rounds;
  }

  private static void serveEngines(int port, Path directory, ExecutorService threads) throws Exception {
    HttpsServer server = HttpsServer.create(new InetSocketAddress("127.0.0.1", port), 64);
    server.setHttpsConfigurator(new HttpsConfigurator(Certificates.server(directory)));
    server.createContext("/", exchange -> {
      byte[] body = exchange.getRequestBody().readAllBytes();
      exchange.sendResponseHeaders(200, body.length == 0 ? -1 : body.length);
      exchange.getResponseBody().write(body);
      exchange.close();
    });
    server.setExecutor(threads);
    server.start();
  }

  private static int post(HttpClient client, int port, int rounds, int seed) throws Exception {
    Random random = new Random(seed);
    for (int round = 0; round < rounds; ++round) {
      byte[] body = new byte[random.nextInt(MOST)];
      random.nextBytes(body);
      HttpRequest request = HttpRequest.newBuilder(URI.create("https://localhost:" + port + "/" + seed + "/" + round))
          .timeout(Duration.ofMillis(PATIENCE_MS)).POST(HttpRequest.BodyPublishers.ofByteArray(body)).build();
      if (!Arrays.equals(client.send(request, HttpResponse.BodyHandlers.ofByteArray()).body(), body)) throw new IOException("other bytes");
    }
    return rounds;
  }

  public static void main(String[] arguments) throws Exception {
    int port = Integer.parseInt(arguments[1]);
    ExecutorService threads = Executors.newCachedThreadPool();
    if (arguments[0].equals("serve")) {
      if (arguments[3].equals("engine")) {
        serveEngines(port, Path.of(arguments[2]), threads);
        return;
      }
      SSLServerSocket listener = (SSLServerSocket) Certificates.server(Path.of(arguments[2])).getServerSocketFactory().createServerSocket(port);
      for (;;) {
        SSLSocket socket = (SSLSocket) listener.accept();
        threads.execute(() -> serve(socket));
      }
    }
    HttpClient client = HttpClient.newBuilder().sslContext(Certificates.client()).version(HttpClient.Version.HTTP_1_1).build();
    int each = Integer.parseInt(arguments[4]);
    List<Callable<Integer>> all = new ArrayList<>();
    for (int i = 0; i < Integer.parseInt(arguments[3]); ++i) {
      int seed = i;
      all.add(arguments[2].equals("engine") ? () -> post(client, port, each, seed) : () -> ask(port, each, seed));
    }
    int rounds = 0;
    try {
      for (Future<Integer> done : threads.invokeAll(all)) rounds += done.get();
      System.out.println(rounds + " times the same");
    } finally {
      threads.shutdown();
    }
  }
}
