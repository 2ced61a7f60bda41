import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.DayOfWeek;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.TextStyle;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Tickets PORT: the same as tickets.py, on the JDK alone, with the same regressions. */
public final class Tickets {
  private static final String BUG = System.getenv().getOrDefault("BUG", "");
  private static final String CURRENCY = BUG.equals("query") ? "usd" : "eur";
  private static final String CATALOG = System.getenv("CATALOG_URL");
  private static final int DRAWS = 32;
  private static final long TOKEN_LASTS = 3600; // seconds
  private static final int WAIT = 30_000; // ms

  record Answer(int status, String json) {}

  /** The answer to a request that cannot go on. */
  static final class Failed extends IOException {
    final int status;

    Failed(int status, String why) {
      super(why);
      this.status = status;
    }
  }

  private final Cache cache;
  private final Map<String, String> events = new ConcurrentHashMap<>(); // what the catalog has said of an event

  Tickets(Cache cache) {
    this.cache = cache;
  }

  private static String ask(String path) throws IOException {
    HttpURLConnection connection = (HttpURLConnection) new URL(CATALOG + path).openConnection();
    connection.setReadTimeout(WAIT);
    int status = connection.getResponseCode();
    try (InputStream body = status >= 400 ? connection.getErrorStream() : connection.getInputStream()) {
      String text = body == null ? "" : new String(body.readAllBytes(), StandardCharsets.UTF_8);
      if (status != 200) throw new Failed(status, "the catalog has no such thing");
      return text;
    }
  }

  private static String member(String json, String name) throws Failed {
    Matcher found = Pattern.compile("\"" + name + "\": *(?:\"([^\"]*)\"|(\\d+))").matcher(json);
    if (!found.find()) throw new Failed(400, "the request is not understood");
    return found.group(1) != null ? found.group(1) : found.group(2);
  }

  private int price(String event) throws IOException {
    String found = cache.ask("GET", "event:" + event);
    if (found != null) return Integer.parseInt(found);
    String cents = member(ask("/events/" + event + "?currency=" + CURRENCY), "cents");
    cache.ask("SET", "event:" + event, cents);
    return Integer.parseInt(cents);
  }

  private Answer sell(String order) throws IOException {
    String event = member(order, "event");
    int seats = Integer.parseInt(member(order, "seats"));
    if (BUG.equals("exchanged")) cache.ask("INCR", "sold:" + event);
    int total = price(event) * seats;
    if (BUG.equals("extra")) cache.ask("GET", "discount:" + event);
    if (!BUG.equals("exchanged")) cache.ask("INCR", "sold:" + event);
    UUID code = UUID.randomUUID();
    if (!BUG.equals("dropped")) cache.ask("SET", "ticket:" + code, event + ":" + seats + ":" + total);
    return new Answer(
        201,
        String.format(
            "{\"code\": \"%s\", \"event\": %s, \"%s\": %d, \"total\": %d, \"issued\": \"%s\"}",
            code, event, BUG.equals("field") ? "places" : "seats", seats, total, Instant.now()));
  }

  private Answer event(String number) throws IOException {
    String known = events.get(number);
    if (known == null) {
      known = ask("/events/" + number + "?currency=" + CURRENCY);
      events.put(number, known);
    }
    return new Answer(200, known);
  }

  private String number(String key) throws IOException {
    String found = cache.ask("GET", key);
    return found == null ? "0" : found;
  }

  private Answer opening() throws IOException {
    ZonedDateTime now = ZonedDateTime.now(ZoneOffset.UTC);
    DayOfWeek day = now.getDayOfWeek();
    boolean open = now.getHour() >= 8 && now.getHour() < 20 && day != DayOfWeek.SUNDAY;
    String desk = cache.ask("GET", open ? "desk:day" : "desk:night");
    return new Answer(
        200,
        String.format(
            "{\"open\": %s, \"day\": \"%s\", \"desk\": %s}",
            open, day.getDisplayName(TextStyle.FULL, Locale.ENGLISH), desk == null ? "null" : '"' + desk + '"'));
  }

  /** As many calls as draws were lucky. */
  private Answer lucky() throws IOException {
    List<String> calls = new ArrayList<>();
    for (int draw = 0; draw < DRAWS; ++draw) {
      if (ThreadLocalRandom.current().nextBoolean()) calls.add(cache.ask("INCR", "lucky"));
    }
    return new Answer(200, "{\"calls\": " + calls + "}");
  }

  private static String encoded(byte[] bytes) {
    return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
  }

  private static String signed(String text) throws GeneralSecurityException {
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(System.getenv("KEY").getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
    return encoded(mac.doFinal(text.getBytes(StandardCharsets.UTF_8)));
  }

  private Answer login(String who) throws IOException, GeneralSecurityException {
    String claims =
        String.format("{\"sub\":\"%s\",\"exp\":%d}", member(who, "name"), Instant.now().getEpochSecond() + TOKEN_LASTS);
    String text = encoded("{\"alg\":\"HS256\",\"typ\":\"JWT\"}".getBytes(StandardCharsets.UTF_8)) + "."
        + encoded(claims.getBytes(StandardCharsets.UTF_8));
    return new Answer(200, "{\"token\": \"" + text + "." + signed(text) + "\"}");
  }

  private Answer me(String authorization) throws IOException, GeneralSecurityException {
    String token = authorization == null ? "" : authorization.replaceFirst("^Bearer ", "");
    int last = token.lastIndexOf('.');
    String text = last < 0 ? "" : token.substring(0, last);
    byte[] right = signed(text).getBytes(StandardCharsets.UTF_8);
    if (!MessageDigest.isEqual(token.substring(last + 1).getBytes(StandardCharsets.UTF_8), right)) {
      return new Answer(401, "{\"error\": \"the signature is wrong\"}");
    }
    byte[] body = Base64.getUrlDecoder().decode(text.substring(text.indexOf('.') + 1));
    String claims = new String(body, StandardCharsets.UTF_8);
    if (Long.parseLong(member(claims, "exp")) <= Instant.now().getEpochSecond()) {
      return new Answer(401, "{\"error\": \"the token has expired\"}");
    }
    String name = member(claims, "sub");
    return new Answer(200, String.format("{\"name\": \"%s\", \"tickets\": %s}", name, number("tickets-of:" + name)));
  }

  private Answer handle(String asked, String authorization, String body) throws IOException, GeneralSecurityException {
    switch (asked) {
      case "GET /health":
        return new Answer(200, "{}");
      case "POST /tickets":
        return sell(body);
      case "POST /login":
        return login(body);
      case "GET /me":
        return me(authorization);
      case "GET /open":
        return opening();
      case "GET /lucky":
        return lucky();
      default:
    }
    Matcher of = Pattern.compile("GET /(events|sales|quotes)/(\\d+)").matcher(asked);
    if (!of.matches()) return new Answer(404, "{}");
    String number = of.group(2);
    switch (of.group(1)) {
      case "events":
        return event(number);
      case "quotes":
        return new Answer(200, ask("/quotes/" + number));
      default:
        return new Answer(200, String.format("{\"event\": %s, \"sold\": %s}", number, number("sold:" + number)));
    }
  }

  private void answer(HttpExchange exchange) throws IOException {
    String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
    Answer answer;
    try {
      answer =
          handle(
              exchange.getRequestMethod() + " " + exchange.getRequestURI(),
              exchange.getRequestHeaders().getFirst("Authorization"),
              body);
    } catch (Failed failed) {
      answer = new Answer(failed.status, "{\"error\": \"" + failed.getMessage() + "\"}");
    } catch (IOException | GeneralSecurityException error) {
      answer = new Answer(502, "{\"error\": \"a neighbour does not answer\"}");
    }
    byte[] bytes = answer.json().getBytes(StandardCharsets.UTF_8);
    exchange.getResponseHeaders().set("Content-Type", "application/json");
    exchange.sendResponseHeaders(answer.status(), bytes.length);
    exchange.getResponseBody().write(bytes);
    exchange.close();
  }

  public static void main(String[] arguments) throws IOException {
    String[] at = System.getenv("CACHE").split(":");
    int pool = Integer.parseInt(System.getenv().getOrDefault("POOL", "4"));
    Tickets tickets = new Tickets(new Cache(at[0], Integer.parseInt(at[1]), pool));
    InetSocketAddress address =
        new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(arguments[0]));
    HttpServer server = HttpServer.create(address, 0);
    server.createContext("/", tickets::answer);
    server.setExecutor(Executors.newCachedThreadPool());
    server.start();
  }
}
