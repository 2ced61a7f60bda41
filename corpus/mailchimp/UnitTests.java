import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * Unit tests of the services, with stand-ins on real sockets for what they ask. Exits with 1 at the
 * first that fails.
 */
public final class UnitTests {
  private static final List<HttpServer> SERVERS = new ArrayList<>();

  private static void expect(String what, Object expected, Object seen) {
    if (Objects.equals(expected, seen)) return;
    System.err.println(what + ": expected " + expected + ", saw " + seen);
    System.exit(1);
  }

  private static String served(Service.Handler handler) throws IOException {
    HttpServer server = Service.serve(0, handler);
    SERVERS.add(server);
    return "http://127.0.0.1:" + server.getAddress().getPort();
  }

  private static Service.Handler always(int status, String text) {
    return (method, path) -> new Service.Answer(status, text);
  }

  private static Service.Answer page(String mapper, String primary, String secondary, boolean bug) {
    return new AppServer(new AppServer.Setting(mapper, primary, secondary, bug))
        .answer("GET", "/urls/spring-sale");
  }

  public static void main(String[] arguments) throws Exception {
    Service.Answer found = new Service.Answer(200, "campaigns/2021/17");
    String nobody = "http://127.0.0.1:1";
    String mapper = served(RequestMapper::answer);
    String database = served(Database::answer);
    String broken = served(always(500, ""));
    String readOnly =
        served((method, path) ->
            path.equals("/read") ? new Service.Answer(200, "") : Database.answerWrite(true));

    expect("a known URL", found, RequestMapper.answer("GET", "/urls/spring-sale"));
    expect("an unknown URL", "x", RequestMapper.answer("GET", "/urls/x").text());
    expect("a replica that is read-only", 403, Database.answerWrite(true).status());

    expect("all is well", found, page(mapper, database, nobody, false));
    expect("the secondary stands in", found, page(mapper, nobody, database, false));
    expect("the primary cannot be read", found, page(mapper, broken, database, false));
    expect("no database", 500, page(mapper, nobody, nobody, false).status());
    expect("no mapping", 500, page(broken, database, database, false).status());
    expect("nobody maps", 500, page(nobody, database, database, false).status());
    expect("a visit is not counted", found, page(mapper, readOnly, nobody, false));
    expect("bug 1", false, page(mapper, readOnly, nobody, true).equals(found));

    expect("an answer is passed on", found,
        new LoadBalancer(served(always(200, found.text())), false).answer("GET", "/urls/x"));
    expect("a page for errors", LoadBalancer.SORRY,
        new LoadBalancer(broken, false).answer("GET", "/urls/x").text());
    expect("a page for nobody there", LoadBalancer.SORRY,
        new LoadBalancer(nobody, false).answer("GET", "/urls/x").text());
    expect("bug 2", 500, new LoadBalancer(broken, true).answer("GET", "/urls/x").status());

    System.exit(0); // the servers' threads would keep the program alive
  }
}
