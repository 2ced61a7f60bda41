// As tests/integration/apps/get_client.py, with the JDK's clients: GetClient URL [url: HttpURLConnection, else HttpClient]
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
  // HttpClient counts the handshake, too, and a cold JVM on a busy machine takes more than half a second for it.
  private static final int PATIENCE_MS = 2000;

  private static void told(int status, byte[] body) {
    boolean whole = Arrays.equals(body, "0123456789".repeat(200).getBytes());
    System.out.println(status + " " + body.length + " bytes" + (whole || status != 200 ? "" : " changed"));
  }

  private static void byHttpClient(URI uri) throws Exception {
    HttpClient.Builder builder = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1);
    if (uri.getScheme().equals("https")) builder.sslContext(Certificates.client());
    HttpRequest request = HttpRequest.newBuilder(uri).timeout(Duration.ofMillis(PATIENCE_MS)).build();
    HttpResponse<byte[]> answer = builder.build().send(request, HttpResponse.BodyHandlers.ofByteArray());
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

  public static void main(String[] arguments) {
    try {
      if (arguments.length > 1 && arguments[1].equals("url")) {
        byUrlConnection(URI.create(arguments[0]));
      } else {
        byHttpClient(URI.create(arguments[0]));
      }
    } catch (Exception failure) {
      System.out.println(failure.getClass().getSimpleName());
    }
  }
}
