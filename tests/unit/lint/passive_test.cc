#include <gtest/gtest.h>

#include "daemon/lint/record_view.h"
#include "tests/unit/lint/recipe.h"

namespace filibuster::lint {
namespace {

bool says(const Finding& finding, const std::string& part) {
  return finding.text.find(part) != std::string::npos;
}

// --- redundant-rpc ---

TEST(RedundantRpcTest, TheSameRequestTwiceForOneIncomingRequestIsFound) {
  Recipe recipe;
  recipe.from_test("front", "GET /");
  recipe.call(1, "front", "users", "GET /users/7", R"({"a": 1})", 10);
  recipe.call(1, "front", "users", "GET /users/7", R"({"a": 1})", 20);
  const auto findings = found(recipe, Lint::kRedundantRpc);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, Severity::kWarning);
  EXPECT_TRUE(says(findings[0], "front sends GET /users/7 of users 2 times")) << findings[0].text;
  ASSERT_EQ(findings[0].calls.size(), 2u);
  EXPECT_EQ(findings[0].calls[1].place(), "/app/front.py:20 (handle)");
}

TEST(RedundantRpcTest, OtherArgumentsAreAnotherRequest) {
  Recipe recipe;
  recipe.from_test("front", "GET /");
  recipe.call(1, "front", "users", "GET /users?id=7");
  recipe.call(1, "front", "users", "GET /users?id=8");
  recipe.body(&recipe.call(1, "front", "users", "POST /users"), "x");
  recipe.body(&recipe.call(1, "front", "users", "POST /users"), "y");
  EXPECT_TRUE(found(recipe, Lint::kRedundantRpc).empty());
}

TEST(RedundantRpcTest, AnotherIncomingRequestMayAskAgain) {
  Recipe recipe;
  recipe.from_test("front", "GET /");
  recipe.from_test("front", "GET /");
  recipe.call(1, "front", "users", "GET /users/7");
  recipe.call(2, "front", "users", "GET /users/7");
  EXPECT_TRUE(found(recipe, Lint::kRedundantRpc).empty());
}

TEST(RedundantRpcTest, ARequestAfterAFailureIsARetry) {
  for (const uint16_t status : {503, 429, 408}) {
    Recipe recipe;
    recipe.from_test("front", "GET /");
    recipe.call(1, "front", "users", "GET /users/7").status = status;
    recipe.call(1, "front", "users", "GET /users/7");
    EXPECT_TRUE(found(recipe, Lint::kRedundantRpc).empty()) << status;
  }
}

TEST(RedundantRpcTest, AGrpcCallThatFailedIsTriedAgainWhateverItsHttpStatus) {
  for (const uint8_t status : {uint8_t{14}, uint8_t{0}}) {
    Recipe recipe;
    recipe.from_test("front", "GET /");
    for (const uint8_t each : {status, uint8_t{0}}) {
      RpcRecord& rpc = recipe.call(1, "front", "cart", "POST /shop.CartService/GetCart");
      Recipe::grpc(&rpc, each);
    }
    const auto findings = found(recipe, Lint::kRedundantRpc);
    ASSERT_EQ(findings.size(), status == 0 ? 1u : 0u);
    if (status == 0) {
      EXPECT_EQ(findings[0].text,
                "front sends shop.CartService/GetCart of cart 2 times while it serves GET / of "
                "front; the answers are the same");
    }
  }
}

TEST(SucceededTest, IsTheStatusOfGrpcWhereThereIsOne) {
  Recipe recipe;
  RpcRecord& rpc = recipe.from_test("cart", "POST /shop.CartService/GetCart");
  // As clients with a retry policy have it: what is asked for is wrong or missing, or it is not.
  for (const uint8_t code : {0, 3, 5, 6, 7, 9, 11, 12, 16}) {
    Recipe::grpc(&rpc, code);
    EXPECT_TRUE(succeeded(rpc)) << int{code};
    EXPECT_EQ(rpc.answered_with_error(), code != 0) << int{code};
  }
  for (const uint8_t code : {1, 2, 4, 8, 10, 13, 14, 15, 255}) {
    Recipe::grpc(&rpc, code);
    EXPECT_FALSE(succeeded(rpc)) << int{code};
    EXPECT_TRUE(rpc.answered_with_error()) << int{code};
  }
  rpc.status = 404;  // not the server's: a proxy's
  EXPECT_TRUE(rpc.answered_with_error());
}

TEST(SucceededTest, OfRedisIsWhatNoSecondCommandChanges) {
  Recipe recipe;
  RpcRecord& rpc = recipe.from_test("cache", "GET user:*");
  for (const char* code : {"", "WRONGTYPE", "ERR", "NOAUTH", "MOVED"}) {
    Recipe::redis(&rpc, code);
    EXPECT_TRUE(succeeded(rpc)) << code;
    EXPECT_EQ(rpc.answered_with_error(), *code != '\0') << code;
  }
  for (const char* code : {"LOADING", "BUSY", "CLUSTERDOWN", "READONLY", "OOM"}) {
    Recipe::redis(&rpc, code);
    EXPECT_FALSE(succeeded(rpc)) << code;
    EXPECT_TRUE(rpc.answered_with_error()) << code;
  }
}

TEST(ReadOnlyTest, OfRedisIsWhatDoesNotWrite) {
  const struct {
    const char* request;
    bool read_only;
  } rows[] = {{"GET user:*", true}, {"SET user:*", false},         {"JSON.GET a", false},
              {"EVAL a", false},    {"MULTI GET a, HGET b", true}, {"MULTI GET a, DEL b", false}};
  for (const auto& row : rows) {
    Recipe recipe;
    RpcRecord& rpc = recipe.from_test("cache", row.request);
    Recipe::redis(&rpc, "");
    EXPECT_EQ(is_read_only(rpc), row.read_only) << row.request;
  }
}

TEST(CallSitesTest, CommandsOfRedisAreSitesByTheirKindOfKeyWithoutAStack) {
  Recipe recipe;
  recipe.from_test("front", "GET /");
  for (const char* request : {"GET a/user:*", "GET a/cart:*", "SET a/user:*", "GET a/user:*"}) {
    RpcRecord& rpc = recipe.call(1, "front", "cache", request);
    Recipe::redis(&rpc, "");
    rpc.stack = {};
  }
  EXPECT_EQ(call_sites(recipe.record).size(), 4u);
}

TEST(CallSitesTest, TwoMethodsOfAGrpcServiceAreTwoSitesWithoutAStack) {
  Recipe recipe;
  recipe.from_test("front", "GET /");
  for (const char* method : {"GetCart", "UpdateCart"}) {
    RpcRecord& rpc =
        recipe.call(1, "front", "cart", std::string("POST /shop.CartService/") + method);
    Recipe::grpc(&rpc, 0);
    rpc.stack = {};
  }
  EXPECT_EQ(call_sites(recipe.record).size(), 3u);
}

TEST(RedundantRpcTest, TheTestsOwnRequestsAreItsBusiness) {
  Recipe recipe;
  recipe.from_test("front", "GET /");
  recipe.from_test("front", "GET /");
  EXPECT_TRUE(lint_reference(recipe.record).empty());
}

TEST(RedundantRpcTest, OtherAnswersOrAChangeBetweenMakeItANote) {
  Recipe polls;
  polls.from_test("front", "GET /");
  polls.call(1, "front", "users", "GET /job", "1");
  polls.call(1, "front", "users", "GET /job", "2");
  auto findings = found(polls, Lint::kRedundantRpc);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, Severity::kNote);
  EXPECT_TRUE(says(findings[0], "the answers differ"));

  Recipe changes;
  changes.from_test("front", "GET /");
  changes.call(1, "front", "users", "GET /cart");
  changes.call(1, "front", "users", "POST /cart");
  changes.call(1, "front", "users", "GET /cart");
  findings = found(changes, Lint::kRedundantRpc);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, Severity::kNote);
  EXPECT_TRUE(says(findings[0], "POST /cart of users may have changed")) << findings[0].text;
}

// --- redundant-across-services ---

TEST(RedundantAcrossServicesTest, TwoServicesThatAskForTheSameAreFound) {
  Recipe recipe;
  recipe.from_test("front", "GET /");
  recipe.call(1, "front", "users", "GET /users/7");
  recipe.call(1, "front", "orders", "GET /orders/7");
  recipe.call(3, "orders", "users", "GET /users/7");
  const auto findings = found(recipe, Lint::kRedundantAcrossServices);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, Severity::kWarning);
  EXPECT_TRUE(says(findings[0], "front and orders both send GET /users/7 of users"))
      << findings[0].text;
  EXPECT_TRUE(found(recipe, Lint::kRedundantRpc).empty());
}

TEST(RedundantAcrossServicesTest, OneServiceIsNotSeveral) {
  Recipe recipe;
  recipe.from_test("front", "GET /");
  recipe.call(1, "front", "users", "GET /users/7");
  recipe.call(1, "front", "users", "GET /users/7");
  recipe.from_test("users", "GET /users/7");
  EXPECT_TRUE(found(recipe, Lint::kRedundantAcrossServices).empty());
}

TEST(RedundantAcrossServicesTest, UnderDifferentRequestsOfTheTestItIsANote) {
  Recipe recipe;
  recipe.from_test("front", "GET /");
  recipe.from_test("orders", "GET /");
  recipe.call(1, "front", "users", "GET /users/7");
  recipe.call(2, "orders", "users", "GET /users/7");
  const auto findings = found(recipe, Lint::kRedundantAcrossServices);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, Severity::kNote);
}

// --- n-plus-one ---

TEST(NPlusOneTest, OneCallSiteWithThreeArgumentsIsFound) {
  Recipe recipe;
  recipe.from_test("front", "GET /");
  for (const char* target : {"GET /movies/1", "GET /movies/2", "GET /movies/3"})
    recipe.call(1, "front", "movies", target);
  const auto findings = found(recipe, Lint::kNPlusOne);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_TRUE(says(findings[0], "front asks movies 3 times from one call site"))
      << findings[0].text;
  EXPECT_TRUE(says(findings[0], "3.0 ms in all")) << findings[0].text;
}

TEST(NPlusOneTest, TwoArgumentsRetriesOrSeveralSitesAreNone) {
  Recipe two;
  two.from_test("front", "GET /");
  two.call(1, "front", "movies", "GET /movies/1").status = 503;
  two.call(1, "front", "movies", "GET /movies/1");
  two.call(1, "front", "movies", "GET /movies/2");
  EXPECT_TRUE(found(two, Lint::kNPlusOne).empty());

  Recipe sites;
  sites.from_test("front", "GET /");
  sites.call(1, "front", "movies", "GET /movies/1", "{}", 1);
  sites.call(1, "front", "movies", "GET /movies/2", "{}", 2);
  sites.call(1, "front", "movies", "GET /movies/3", "{}", 3);
  EXPECT_TRUE(found(sites, Lint::kNPlusOne).empty());

  Recipe requests;
  for (uint64_t i = 1; i <= 3; ++i) requests.from_test("front", "GET /");
  for (uint64_t i = 1; i <= 3; ++i)
    requests.call(i, "front", "movies", "GET /movies/" + std::to_string(i));
  EXPECT_TRUE(found(requests, Lint::kNPlusOne).empty());
}

TEST(NPlusOneTest, WithoutCallStacksTheFolderOfThePathDecides) {
  Recipe recipe;
  recipe.from_test("front", "GET /");
  for (const char* target : {"GET /movies/1", "GET /movies/2", "GET /movies/3", "GET /stars/1"}) {
    RpcRecord& rpc = recipe.call(1, "front", "movies", target);
    rpc.stack = {};
    rpc.stack_text.clear();
  }
  const auto findings = found(recipe, Lint::kNPlusOne);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].calls.size(), 3u);
  EXPECT_TRUE(says(findings[0], "the call site is not known")) << findings[0].text;
}

// --- unknown-cause ---

TEST(UnknownCauseTest, ARequestOfAServiceWithoutACauseIsFoundOncePerSite) {
  Recipe recipe;
  recipe.from_test("front", "GET /");
  for (int i = 0; i < 4; ++i) recipe.call(0, "front", "users", "GET /ping").cause = Cause::kNone;
  const auto findings = found(recipe, Lint::kUnknownCause);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_TRUE(says(findings[0], "(4 requests)")) << findings[0].text;
}

TEST(UnknownCauseTest, ABackgroundTaskIsNamedAsSuch) {
  Recipe recipe;
  recipe.from_test("front", "GET /");
  RpcRecord& ping = recipe.call(0, "front", "users", "GET /ping");
  ping.cause = Cause::kNone;
  ping.flags |= kRpcBackground;
  const auto findings = found(recipe, Lint::kUnknownCause);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_TRUE(says(findings[0], "a background task of front sends")) << findings[0].text;
}

TEST(UnknownCauseTest, TheTestNeedsNoCauseAndAThreadIsOne) {
  Recipe recipe;
  recipe.from_test("front", "GET /").cause = Cause::kNone;
  recipe.call(1, "front", "users", "GET /users/7");
  EXPECT_TRUE(found(recipe, Lint::kUnknownCause).empty());
}

// --- call sites and the choice ---

TEST(CallSitesTest, EachStackIsOneSiteWithItsNumberOfRequests) {
  Recipe recipe;
  recipe.from_test("front", "GET /");
  recipe.call(1, "front", "movies", "GET /movies/1", "{}", 5);
  recipe.call(1, "front", "movies", "GET /movies/2", "{}", 5);
  recipe.call(1, "front", "movies", "GET /movies/2", "{}", 6);
  const auto sites = call_sites(recipe.record);
  ASSERT_EQ(sites.size(), 3u);
  EXPECT_EQ(sites[0].first.caller, "test");
  EXPECT_EQ(sites[1].rpcs, 2u);
  EXPECT_EQ(sites[2].first.place(), "/app/front.py:6 (handle)");
}

TEST(CallSitesTest, APlaceIsFileLineAndFunction) {
  const Place python = parse_place("/app/users.py:31 (get::bookings)");
  EXPECT_EQ(python.file, "/app/users.py");
  EXPECT_EQ(python.line, 31u);
  EXPECT_EQ(python.function, "get::bookings");
  EXPECT_EQ(parse_place("file:///app/a.mjs:7 (x)").file, "/app/a.mjs");
  EXPECT_EQ(parse_place("users.cc:9").line, 9u);
  const Place native = parse_place("libfoo.so+0x12 (std::vector<int>::at(unsigned long))");
  EXPECT_EQ(native.file, "");
  EXPECT_EQ(native.line, 0u);
  EXPECT_EQ(native.function, "std::vector<int>::at(unsigned long)");
  EXPECT_EQ(parse_place("").file, "");
}

TEST(ChooseTest, TheWorstComesFirstAndWhatIsLeftOutIsGone) {
  std::vector<Finding> all(3);
  all[0].lint = Lint::kForwardedResponse;
  all[1].lint = Lint::kRedundantRpc;
  all[1].severity = Severity::kWarning;
  all[2].severity = Severity::kError;
  auto chosen = all;
  choose({}, &chosen);
  ASSERT_EQ(chosen.size(), 3u);
  EXPECT_EQ(chosen[0].lint, Lint::kNoTimeout);
  EXPECT_EQ(chosen[2].lint, Lint::kForwardedResponse);
  Options options;
  options.least = Severity::kWarning;
  options.without = {Lint::kNoTimeout};
  choose(options, &all);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].lint, Lint::kRedundantRpc);
}

}  // namespace
}  // namespace filibuster::lint
