// What test_helpers.py runs: the same blocks as shop.py and shop.cc.
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.Collections;

public class Shop {
  static final String USER = "shop.UserService/GetUser";
  static final String CART = "shop.CartService/GetCart";
  static final String PRICE = "shop.PricingService/GetPrice";

  static class Whole extends FilibusterPrincipled { // HERE: the test
    @Override
    public void setupBlock() {
      group("pays", () -> {
        withoutFaults(() -> withoutFaults(() -> {}));
        group("twice", () -> {});
      });
    }

    @Override
    public void stubBlock() {
      stubFor("user", rpc(USER).request("{\"session_id\": \"s1\"}"), answer().message(Collections.singletonMap("user_id", "ann"))); // HERE: the stub
      stubFor("mail", http("POST", "/mails"), answer().status(503), answer().json("{\"sent\": true}"));
    }

    @Override
    public void failureBlock() {
      assertOnFault(Arrays.asList(rpc(PRICE).request(Collections.singletonMap("code", "DAILY")), rpc(PRICE).fault("timeout")), this::fullPrice);
      assertOnException("UNAVAILABLE", () -> sideEffectingRpc("shop.CartService/UpdateCart", 0));
      assertFaultThrows(USER, "UNAVAILABLE", "no user");
      assertFaultThrows(service("mail").fault("status:503"), 409);
      assertFaultPropagates(rpc(CART));
      assertFaultHasNoImpact("mail");
    }

    @Override
    public void executeTestBlock() {
      response.set(4);
      outcome("UNAVAILABLE", "no user");
    }

    @Override
    public void assertTestBlock() {
      costs(4);
    }

    @Override
    public void assertStubBlock() {
      verifyThat(rpc(USER), 1);
    }

    void costs(int price) {
      assertEquals(price, getResponse()); // HERE: it fails
    }

    void fullPrice() {
      readOnlyRpc(CART);
    }
  }

  static class Derived extends Whole {
    @Override
    public void assertTestBlock() {
      costs(3);
    }
  }

  static class Misplaced extends Whole {
    @Override
    public void setupBlock() {
      stubFor("user", "/", answer().text(""));
      verifyThat(USER, -1);
      assertFaultThrows(USER, 409);
      assertFaultPropagates(USER);
      assertFaultHasNoImpact(USER);
      assertOnFault(USER, this::fullPrice);
      assertOnException(409, this::fullPrice);
      readOnlyRpc(USER);
      sideEffectingRpc(USER, 1);
    }
  }

  static class Swallows extends Whole {
    @Override
    public void setupBlock() {
      try {
        withoutFaults(() -> {});
      } catch (Throwable error) {
        return; // what the daemon refused must not be lost
      }
    }
  }

  static class Fresh extends FilibusterPrincipled {
    int executed;

    @Override
    public void executeTestBlock() {
      ++executed;
    }

    @Override
    public void assertTestBlock() {
      assertEquals(1, executed);
    }
  }

  static class Outside extends FilibusterPrincipled {
    @Override
    public void executeTestBlock() {}

    @Override
    public void teardownBlock() {
      new Outside().verifyThat(USER, 1); // an instance that no block of filibuster runs
    }
  }
}
