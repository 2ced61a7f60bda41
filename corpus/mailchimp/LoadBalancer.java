import java.io.IOException;

/** Load balancer (HAProxy in the real application): passes answers on, and has a page for when there is none. */
public final class LoadBalancer {
  static final String SORRY = "<h1>We will be back in a minute</h1>";
  // ms; the App Server asks five times in the worst case, for half a second each.
  private static final int TIMEOUT = 3000;

  private final String appServer;
  private final boolean knows503Only; // bug 2: every other error reaches the user as it is

  LoadBalancer(String appServer, boolean knows503Only) {
    this.appServer = appServer;
    this.knows503Only = knows503Only;
  }

  Service.Answer answer(String method, String path) {
    try {
      Service.Answer answer = Service.ask(method, appServer + path, TIMEOUT);
      boolean failed = knows503Only ? answer.status() == 503 : answer.status() >= 500;
      return failed ? new Service.Answer(503, SORRY) : answer;
    } catch (IOException error) {
      return new Service.Answer(503, SORRY);
    }
  }

  public static void main(String[] arguments) throws Exception {
    LoadBalancer balancer =
        new LoadBalancer(
            System.getenv("APP_SERVER_URL"),
            System.getenv().getOrDefault("MAILCHIMP_BUGS", "").contains("2"));
    Service.serve(Integer.parseInt(arguments[0]), balancer::answer);
  }
}
