// DrawnNumbers.java PORT: GET /draw/N answers with a random number of each source that Java has. With LESS or MORE in the environment it draws one
// number less or more before, of which the answer has nothing. Behind each request a thread that works for none draws, too.
import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.security.SecureRandom;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Supplier;
import java.util.stream.Collectors;

public class DrawnNumbers {
  static final Random RANDOM = new Random();
  static final SecureRandom SECURE = new SecureRandom();
  static final SplittableRandom SPLITTABLE = new SplittableRandom();
  static final LinkedBlockingQueue<Integer> WAKE = new LinkedBlockingQueue<>();

  static byte[] bytes(int count) {
    byte[] out = new byte[count];
    SECURE.nextBytes(out);
    return out;
  }

  static void drawForNobody() {
    try {
      for (;;) {
        WAKE.take();
        bytes(7);
        RANDOM.nextInt();
        Math.random();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  static String draw() {
    if (System.getenv("LESS") == null) bytes(2);
    if (System.getenv("MORE") != null) bytes(3);
    WAKE.add(1);
    Map<String, Supplier<Number>> sources = new LinkedHashMap<>();
    sources.put("nextInt", RANDOM::nextInt);
    sources.put("bound", () -> RANDOM.nextInt(1_000_000_000));
    sources.put("between", () -> RANDOM.nextInt(5, 1_000_000_000));
    sources.put("nextLong", RANDOM::nextLong);
    sources.put("nextDouble", RANDOM::nextDouble);
    sources.put("nextFloat", () -> new Random().nextFloat());
    sources.put("gaussian", () -> new Random().nextGaussian());
    sources.put("ints", () -> RANDOM.ints(3).sum());
    sources.put("math", Math::random);
    sources.put("threadLocalInt", () -> ThreadLocalRandom.current().nextInt());
    sources.put("threadLocalBound", () -> ThreadLocalRandom.current().nextInt(1_000_000_000));
    sources.put("threadLocalLong", () -> ThreadLocalRandom.current().nextLong());
    sources.put("threadLocalDouble", () -> ThreadLocalRandom.current().nextDouble());
    synchronized (SPLITTABLE) {
      int number = SPLITTABLE.nextInt();
      double fraction = SPLITTABLE.nextDouble();
      sources.put("splittable", () -> number);
      sources.put("splittableDouble", () -> fraction);
    }
    sources.put("secure", () -> new java.math.BigInteger(bytes(5)));
    sources.put("secureInt", SECURE::nextInt);
    sources.put("uuid", () -> UUID.randomUUID().getLeastSignificantBits());
    return sources.entrySet().stream().map(each -> "\"" + each.getKey() + "\": " + each.getValue().get()).collect(Collectors.joining(", ", "{", "}"));
  }

  public static void main(String[] arguments) throws Exception {
    var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(arguments[0]));
    var server = HttpServer.create(address, 64);
    server.setExecutor(Executors.newFixedThreadPool(8));
    server.createContext("/draw/", exchange -> {
      byte[] body = draw().getBytes();
      exchange.getResponseHeaders().set("Content-Type", "application/json");
      exchange.sendResponseHeaders(200, body.length);
      exchange.getResponseBody().write(body);
      exchange.close();
    });
    var background = new Thread(DrawnNumbers::drawForNobody);
    background.setDaemon(true);
    background.start();
    server.start();
  }
}
