// Token.java PORT: GET /token/N says whether a token that expires N seconds after 1970 is valid, which day it is, and how many minutes local time is ahead.
// It waits until a time of day before it answers, as timers do.
import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.concurrent.locks.LockSupport;

public class Token {
  public static void main(String[] arguments) throws Exception {
    var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(arguments[0]));
    var server = HttpServer.create(address, 8);
    server.createContext("/token/", exchange -> {
      long until = System.currentTimeMillis() + 10;
      while (System.currentTimeMillis() < until) LockSupport.parkUntil(until);
      String expires = exchange.getRequestURI().getPath().substring("/token/".length());
      boolean valid = System.currentTimeMillis() < 1000 * Long.parseLong(expires);
      int ahead = OffsetDateTime.now().getOffset().getTotalSeconds() / 60;
      String text = "{\"valid\": " + valid + ", \"day\": \"" + LocalDate.now(ZoneOffset.UTC) + "\", \"ahead\": " + ahead + "}";
      byte[] body = text.getBytes();
      exchange.getResponseHeaders().set("Content-Type", "application/json");
      exchange.sendResponseHeaders(200, body.length);
      exchange.getResponseBody().write(body);
      exchange.close();
    });
    server.start();
  }
}
