// A test on the JVM (tests/bench/snapshot_bench.py).
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

public class Front {
  public static void main(String[] arguments) throws Exception {
    var request = HttpRequest.newBuilder(URI.create(System.getenv("FRONT"))).build();
    var answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
    System.exit(answer.statusCode() == 200 || answer.statusCode() == 500 || answer.statusCode() == 503 ? 0 : 1);
  }
}
