// As tests/integration/apps/get_client.py, with the JDK's clients:
//   GetClient URL url   with HttpURLConnection
//   GetClient URL...    with one HttpClient, one after the other
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Arrays;
import javax.net.ssl.HttpsURLConnection;

public class GetClient {
  // HttpClient counts the handshake, too, and a cold JVM on a busy machine takes more than a second for it.
  private static final int PATIENCE_MS = 1000 * Integer.parseInt(System.getenv().getOrDefault("LIMIT", "2"));

  private static void told(int status, byte[] body) {
    boolean whole = Arrays.equals(body, "0123456789".repeat(200).getBytes());
    System.out.println(status + " " + body.length + " bytes" + (whole || status != 200 ? "" : " changed"));
  }

  private static HttpClient client(boolean encrypted) throws Exception {
    HttpClient.Builder builder = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1);
    if (encrypted) builder.sslContext(Certificates.client());
    return builder.build();
  }

  private static void byHttpClient(HttpClient client, URI uri) throws Exception {
    HttpRequest request = HttpRequest.newBuilder(uri).timeout(Duration.ofMillis(PATIENCE_MS)).build();
    HttpResponse<byte[]> answer = client.send(request, HttpResponse.BodyHandlers.ofByteArray());
    told(answer.statusCode(), answer.body());
  }

  private static void byUrlConnection(URI uri) throws Exception {
    HttpURLConnection connection = (HttpURLConnection) uri.toURL().openConnection();
    if (connection instanceof HttpsURLConnection)
      ((HttpsURLConnection) connection).setSSLSocketFactory(Certificates.client().getSocketFactory());
    connection.setConnectTimeout(PATIENCE_MS);
    connection.setReadTimeout(PATIENCE_MS);
    int status = connection.getResponseCode();
    try (InputStream body = status < 400 ? connection.getInputStream() : connection.getErrorStream()) {
      told(status, body == null ? new byte[0] : body.readAllBytes());
    }
  }

  private interface Get {
    void get() throws Exception;
  }

  private static void say(Get call) {
    try {
      call.get();
    } catch (Exception failure) {
      System.out.println(failure.getClass().getSimpleName());
    }
  }

  public static void main(String[] arguments) throws Exception {
    if (arguments.length == 2 && arguments[1].equals("url")) {
      say(() -> byUrlConnection(URI.create(arguments[0])));
      return;
    }
    HttpClient client = client(arguments[0].startsWith("https"));
    for (String url : arguments) say(() -> byHttpClient(client, URI.create(url)));
  }
}
