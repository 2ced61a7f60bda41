// The order service alone, as in order.json: the test in Java, whose blocks are the same commands. STEP=0 to 8 is how far the
// tutorial of docs/principled.md has come.
import static org.junit.jupiter.api.Assertions.assertEquals;

public class OrderTest extends FilibusterPrincipled {
  static final String GET_USER = "shop.UserService/GetUser", GET_CART = "shop.CartService/GetCart";
  static final String GET_ADJUSTMENT = "shop.PricingAdjustmentService/GetAdjustment", UPDATE_CART = "shop.CartService/UpdateCart";
  static final String NOT_COMPLETED = "the purchase could not be completed, try again: ";
  static final int STEP = step(8);

  @Override
  public void setupBlock() {
    run("sh", "blocks.sh", "setup");
  }

  @Override
  public void stubBlock() {
    if (STEP < 1) return;
    stubFor("user", rpc(GET_USER).request("{\"session_id\": \"s1\"}"), answer().message("{\"user_id\": \"ann\"}"));
    stubFor("cart", rpc(GET_CART).request("{\"session_id\": \"s1\"}"),
        answer().message("{\"cart_id\": \"c1\", \"merchant_id\": \"bob\", \"total\": 10000}"));
    stubFor("cart", rpc(UPDATE_CART).request("{\"cart_id\": \"c1\", \"discount_percent\": 10}"),
        answer().message("{\"cart_id\": \"c1\", \"merchant_id\": \"bob\", \"total\": 9000}"));
    stubFor("pricing", adjustment("FIRST-TIME"), answer().message("{\"percent\": 10}"));
  }

  @Override
  public void failureBlock() {
    if (STEP >= 3) assertFaultThrows(GET_USER, "UNAVAILABLE", NOT_COMPLETED + "no user");
    if (STEP >= 4) assertOnException("UNAVAILABLE", this::nothingHappened);
    if (STEP >= 5) assertFaultThrows(GET_CART, "UNAVAILABLE", NOT_COMPLETED + "no cart");
    if (STEP >= 6) assertOnFault(adjustment("FIRST-TIME"), this::withoutDiscount);
    if (STEP >= 8) assertOnFault(UPDATE_CART, () -> paid(10000));
  }

  @Override
  public void executeTestBlock() {
    run("/usr/bin/python3", "place_order.py");
  }

  @Override
  public void assertTestBlock() {
    paid(9000);
  }

  @Override
  public void assertStubBlock() {
    if (STEP < 2) return;
    for (String rpc : new String[] {GET_USER, GET_CART, GET_ADJUSTMENT, UPDATE_CART}) verifyThat(rpc, 1);
  }

  @Override
  public void teardownBlock() {
    run("sh", "blocks.sh", "teardown");
  }

  void nothingHappened() {
    run("sh", "blocks.sh", "unchanged");
    readOnlyRpc(GET_CART);
    readOnlyRpc(GET_ADJUSTMENT);
    sideEffectingRpc(UPDATE_CART, 0);
  }

  void withoutDiscount() {
    paid(10000);
    if (STEP >= 7) sideEffectingRpc(UPDATE_CART, 0);
  }

  static void paid(int total) {
    run("sh", "blocks.sh", "paid", String.valueOf(total));
  }

  static Key adjustment(String code) {
    return rpc(GET_ADJUSTMENT).field("/code", code);
  }

  static int step(int last) {
    return Integer.parseInt(System.getenv().getOrDefault("STEP", String.valueOf(last)));
  }

  static void run(String... command) {
    try {
      assertEquals(0, new ProcessBuilder(command).inheritIO().start().waitFor(), String.join(" ", command));
    } catch (java.io.IOException | InterruptedException error) {
      throw new AssertionError(error);
    }
  }
}
