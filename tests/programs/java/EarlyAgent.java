import java.net.ServerSocket;

/** An agent as those of monitoring products: it uses the network while the machine is still being created. */
public final class EarlyAgent {
  public static void premain(String arguments) throws Exception {
    new ServerSocket(0).close();
  }
}
