// Many URL...: gets them all at once with the JDK's HttpClient, over HTTP/2 if the server speaks it, and prints each status or
// failure.
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

public class Many {
  public static void main(String[] urls) throws Exception {
    // It counts the handshake, too, and a cold JVM on a busy machine takes seconds for it.
    Duration patience = Duration.ofSeconds(8);
    HttpClient client = HttpClient.newBuilder().sslContext(Certificates.client()).build();
    List<CompletableFuture<HttpResponse<byte[]>>> answers = new ArrayList<>();
    for (String url : urls) {
      HttpRequest request = HttpRequest.newBuilder(URI.create(url)).timeout(patience).build();
      answers.add(client.sendAsync(request, HttpResponse.BodyHandlers.ofByteArray()));
    }
    for (CompletableFuture<HttpResponse<byte[]>> answer : answers) {
      try {
        System.out.println(answer.get().statusCode());
      } catch (ExecutionException failure) {
        System.out.println(failure.getCause().getClass().getSimpleName());
      }
    }
  }
}
