import java.io.IOException;

/**
 * App Server: resolves a pretty URL with Requestmapper and counts the visit: reads, then writes, at
 * the primary database, or at the secondary if the primary cannot be read or does not answer. A
 * visit that cannot be written is not counted.
 */
public final class AppServer {
  /** Where the others are, and whether the page shows what the database complains about: bug 1. */
  record Setting(String mapper, String primary, String secondary, boolean showsDatabaseErrors) {}

  private final Setting setting;

  AppServer(Setting setting) {
    this.setting = setting;
  }

  Service.Answer answer(String method, String path) {
    String pretty = path.substring("/urls/".length());
    String page;
    try {
      Service.Answer mapped = Service.ask("GET", setting.mapper() + "/urls/" + pretty);
      if (mapped.status() != 200) return error("no mapping");
      page = mapped.text();
    } catch (IOException error) {
      return error("no mapping");
    }
    String alert = "";
    boolean primaryIsThere = true;
    try {
      primaryIsThere = Service.ask("GET", setting.primary() + "/read").status() == 200;
      alert = write(setting.primary(), pretty);
    } catch (IOException error) {
      primaryIsThere = false;
    }
    if (!primaryIsThere) {
      try {
        if (Service.ask("GET", setting.secondary() + "/read").status() != 200) return error("no database");
        alert = write(setting.secondary(), pretty);
      } catch (IOException error) {
        return error("no database");
      }
    }
    return new Service.Answer(200, alert + page);
  }

  private String write(String database, String pretty) throws IOException {
    Service.Answer written = Service.ask("POST", database + "/write/urls/" + pretty);
    return written.status() != 200 && setting.showsDatabaseErrors()
        ? "Warning: cannot write to DB: " + written.text() + "\n"
        : "";
  }

  private static Service.Answer error(String what) {
    return new Service.Answer(500, "Internal Server Error: " + what);
  }

  public static void main(String[] arguments) throws Exception {
    AppServer server =
        new AppServer(
            new Setting(
                System.getenv("REQUESTMAPPER_URL"),
                System.getenv("DB_PRIMARY_URL"),
                System.getenv("DB_SECONDARY_URL"),
                System.getenv().getOrDefault("MAILCHIMP_BUGS", "").contains("1")));
    Service.serve(Integer.parseInt(arguments[0]), server::answer);
  }
}
