// As tests/integration/apps/get_client.py, with the JDK's HttpClient: GetClient URL
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Arrays;

public class GetClient {
  public static void main(String[] arguments) throws Exception {
    HttpClient.Builder builder = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1);
    if (arguments[0].startsWith("https:")) builder.sslContext(Certificates.client());
    HttpClient client = builder.build();
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(arguments[0])).timeout(Duration.ofMillis(500)).build();
    try {
      HttpResponse<byte[]> answer = client.send(request, HttpResponse.BodyHandlers.ofByteArray());
      boolean whole = Arrays.equals(answer.body(), "0123456789".repeat(200).getBytes());
      System.out.println(answer.statusCode() + " " + answer.body().length + " bytes"
          + (whole || answer.statusCode() != 200 ? "" : " changed"));
    } catch (Exception failure) {
      System.out.println(failure.getClass().getSimpleName());
    }
  }
}
