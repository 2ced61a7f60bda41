// Fault injection predicates for functional tests on a JVM (8 and later). One file, no libraries: copy it.
//
//   int expected = FilibusterPredicates.faultInjected().service("movies").ask() ? 503 : 200;
//
// Under `filibuster run` the daemon is asked about the running execution. Otherwise nothing is ever
// injected, and the answer is false.

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.Proxy;
import java.net.URL;
import java.net.URLEncoder;

public final class FilibusterPredicates {
  private static final int TIMEOUT_MS = 30_000;
  private final StringBuilder query = new StringBuilder();

  private FilibusterPredicates() {}

  /** A question that matches any RPC, until something is added to it. */
  public static FilibusterPredicates faultInjected() {
    return new FilibusterPredicates();
  }

  /** The service that was called. */
  public FilibusterPredicates service(String name) {
    return add("service", name);
  }

  /** The method of the request, of gRPC too. */
  public FilibusterPredicates method(String name) {
    return add("method", name);
  }

  /** The path of the request; '*' and '?' match. */
  public FilibusterPredicates path(String pattern) {
    return add("path", pattern);
  }

  /** "refused", "status:503", "grpc:UNAVAILABLE", ... */
  public FilibusterPredicates fault(String text) {
    return add("fault", text);
  }

  /** A gRPC method as in "shop.CartService/GetCart", or its service alone. */
  public FilibusterPredicates grpc(String name) {
    return add("grpc", name);
  }

  /** A JSON object of fields of the request of a gRPC method: {"code": "DAILY"}. */
  public FilibusterPredicates arguments(String json) {
    return add("arguments", json);
  }

  /**
   * Was a fault injected into such an RPC in the running execution?
   *
   * @throws IllegalStateException if the daemon does not answer, or does not understand the question: a
   *     guess would make the test's verdict worthless
   */
  public boolean ask() {
    String url = System.getenv("FILIBUSTER_URL");
    if (url == null || url.isEmpty()) return false;
    try {
      // The daemon listens on loopback, so a proxy must not be used.
      HttpURLConnection connection =
          (HttpURLConnection) new URL(url + "/v1/fault-injected" + query).openConnection(Proxy.NO_PROXY);
      connection.setConnectTimeout(TIMEOUT_MS);
      connection.setReadTimeout(TIMEOUT_MS);
      String token = System.getenv("FILIBUSTER_TOKEN");
      connection.setRequestProperty("Authorization", "Bearer " + (token == null ? "" : token));
      boolean good = connection.getResponseCode() == 200;
      String text = read(good ? connection.getInputStream() : connection.getErrorStream());
      if (good && text.contains("\"injected\":true")) return true;
      if (good && text.contains("\"injected\":false")) return false;
      throw new IllegalStateException("filibuster's daemon did not answer: " + text);
    } catch (IOException error) {
      throw new IllegalStateException("filibuster's daemon did not answer: " + error, error);
    }
  }

  private FilibusterPredicates add(String name, String value) {
    try {
      query.append(query.length() == 0 ? '?' : '&').append(name).append('=').append(URLEncoder.encode(value, "UTF-8"));
    } catch (IOException error) {
      throw new IllegalStateException(error); // every JVM has UTF-8
    }
    return this;
  }

  private static String read(InputStream stream) throws IOException {
    if (stream == null) return "";
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    byte[] buffer = new byte[4096];
    for (int size; (size = stream.read(buffer)) > 0; ) out.write(buffer, 0, size);
    return out.toString("UTF-8");
  }
}
