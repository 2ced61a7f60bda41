// The order service alone, as in discounts.json: the test in Java. It is OrderTest's with two more discounts, and then with a
// notification. STEP=9 to 17 is how far the tutorial of docs/principled.md has come.
import static java.util.Arrays.asList;

public class DiscountsTest extends OrderTest {
  static final String NOTIFY_ORDER = "shop.CartService/NotifyOrder";
  static final Key FIRST_TIME = adjustment("FIRST-TIME"), RETURNING = adjustment("RETURNING"), DAILY = adjustment("DAILY");
  static final int STEP = step(17);

  @Override
  public void stubBlock() {
    super.stubBlock();
    stubFor("cart", rpc(UPDATE_CART).request("{\"cart_id\": \"c1\", \"discount_percent\": 5}"),
        answer().message("{\"cart_id\": \"c1\", \"merchant_id\": \"bob\", \"total\": 9500}"));
    stubFor("cart", rpc(UPDATE_CART).request("{\"cart_id\": \"c1\", \"discount_percent\": 1}"),
        answer().message("{\"cart_id\": \"c1\", \"merchant_id\": \"bob\", \"total\": 9900}"));
    stubFor("pricing", RETURNING, answer().message("{\"percent\": 5}"));
    stubFor("pricing", DAILY, answer().message("{\"percent\": 1}"));
    if (STEP >= 15) stubFor("cart", rpc(NOTIFY_ORDER).request("{\"cart_id\": \"c1\"}"), answer().message("{}"));
  }

  @Override
  public void failureBlock() {
    if (STEP < 11) {
      super.failureBlock();
      return;
    }
    assertFaultThrows(GET_USER, "UNAVAILABLE", NOT_COMPLETED + "no user");
    assertFaultThrows(GET_CART, "UNAVAILABLE", NOT_COMPLETED + "no cart");
    assertOnException("UNAVAILABLE", this::nothingHappened);
    assertOnFault(FIRST_TIME, () -> paid(9500));
    assertOnFault(GET_ADJUSTMENT, () -> paid(9000));
    assertOnFault(UPDATE_CART, () -> paid(10000));
    if (STEP >= 12) {
      assertOnFault(asList(FIRST_TIME, RETURNING), () -> paid(9900));
      assertOnFault(asList(FIRST_TIME, DAILY), () -> paid(9500));
      assertOnFault(asList(RETURNING, DAILY), () -> paid(9000));
    }
    if (STEP >= 13) assertOnFault(asList(GET_ADJUSTMENT, UPDATE_CART), () -> paid(10000));
    if (STEP >= 14) {
      assertOnFault(asList(GET_ADJUSTMENT, GET_ADJUSTMENT, GET_ADJUSTMENT), this::withoutDiscount);
      assertOnFault(asList(GET_ADJUSTMENT, GET_ADJUSTMENT, UPDATE_CART), () -> paid(10000));
    }
    if (STEP >= 17) assertFaultHasNoImpact(NOTIFY_ORDER);
  }

  @Override
  public void assertStubBlock() {
    if (STEP < 10) {
      super.assertStubBlock();
      return;
    }
    for (Object rpc : asList(GET_USER, GET_CART, FIRST_TIME, RETURNING, DAILY, UPDATE_CART)) verifyThat(rpc, 1);
    if (STEP >= 15) verifyThat(NOTIFY_ORDER, 1);
  }

  @Override
  void nothingHappened() {
    super.nothingHappened();
    if (STEP >= 16) sideEffectingRpc(NOTIFY_ORDER, 0);
  }
}
