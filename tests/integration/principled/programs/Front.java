import static org.junit.jupiter.api.Assertions.assertEquals;

import java.net.HttpURLConnection;
import java.net.URL;

class Front extends FilibusterPrincipled {
  int response;

  @Override
  public void stubBlock() {
    stubFor("stock", http("GET", "/"), answer().status(200).text("ten"));
  }

  @Override
  public void failureBlock() {
    if (System.getenv("STATED") == null) return;
    assertFaultThrows(http("GET", "/").fault("503"), 503);
    assertOnException(503, () -> {});
  }

  @Override
  public void executeTestBlock() throws Exception {
    response = ((HttpURLConnection) new URL(System.getenv("FRONT")).openConnection()).getResponseCode();
  }

  @Override
  public void assertTestBlock() {
    assertEquals(200, response);
  }

  @Override
  public void assertStubBlock() {
    verifyThat("GET /", 1);
  }
}
