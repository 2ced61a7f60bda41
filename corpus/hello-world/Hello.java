import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Answers GET /hello?n=N with what World says to N names, asked for by a pool of two threads. */
public final class Hello {
  private static final String WORLD = System.getenv("WORLD_URL");
  private static final int THREADS = 2;
  private static final int MOST = 1000; // requests to World for one of ours
  private static final Duration TIMEOUT = Duration.ofSeconds(5);

  private static final ExecutorService POOL = Executors.newFixedThreadPool(THREADS);
  private static final HttpClient CLIENT =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  /** One request to World: all of them come from here, with the same stack. */
  private record AskWorld(int name) implements Callable<String> {
    @Override
    public String call() throws Exception {
      HttpRequest request =
          HttpRequest.newBuilder(URI.create(WORLD + "/world?name=" + name)).timeout(TIMEOUT).build();
      HttpResponse<String> response = CLIENT.send(request, HttpResponse.BodyHandlers.ofString());
      if (response.statusCode() != 200) throw new IllegalStateException("status");
      return response.body();
    }
  }

  private static Greeting.Answer hello(int n) throws InterruptedException {
    List<AskWorld> questions = new ArrayList<>();
    for (int name = 1; name <= n; ++name) questions.add(new AskWorld(name));
    List<String> answers = new ArrayList<>();
    try {
      for (Future<String> answer : POOL.invokeAll(questions)) answers.add(answer.get());
    } catch (ExecutionException error) {
      return new Greeting.Answer(503, "world is unavailable");
    }
    return new Greeting.Answer(200, String.join("\n", answers));
  }

  public static void main(String[] arguments) throws Exception {
    Greeting.serve(
        Integer.parseInt(arguments[0]),
        (path, query) -> {
          if (path.equals("/health")) return new Greeting.Answer(200, "");
          String n = Greeting.argument(query, "n");
          return hello(n == null ? 2 : Math.min(MOST, Integer.parseInt(n)));
        });
  }
}
