// One sentence where the facts allow one, and nothing where they do not.
#include "daemon/lint/mending.h"

#include <gtest/gtest.h>

#include "tests/unit/lint/recipe.h"

namespace filibuster::lint {
namespace {

// front -> users at front.py:10, with a fault there; `above` is what front answers the test.
struct Failing {
  Recipe reference, now;
  Execution execution;
  std::vector<LoggedException> logged;

  explicit Failing(const std::string& text, const std::string& request = "GET /users/7",
                   uint16_t above = 500) {
    for (Recipe* recipe : {&reference, &now}) {
      recipe->from_test("front", "GET /");
      recipe->call(1, "front", "users", request);
    }
    now.record.rpcs[0].status = above;
    if (above != 200) now.record.rpcs[0].response = hash_text("error");
    hit(&now.record.rpcs[1], text);
    execution.verdict = Verdict::kFailed;
    execution.faults = {fault_of(now.record.rpcs[1], text)};
  }

  static void hit(RpcRecord* rpc, const std::string& text) {
    rpc->injected = true;
    rpc->fault = parse_fault(text).value();
    if (rpc->fault.kind == FaultKind::kAttempts) rpc->fault = rpc->fault.attempts.rules[0].outcome;
    rpc->outcome = RpcOutcome::kReset;
    rpc->status = 0;
  }
  static InjectedFault fault_of(const RpcRecord& rpc, const std::string& text) {
    InjectedFault out;
    out.index = rpc.index;
    out.fault = text;
    out.caller = rpc.caller;
    out.service = rpc.service;
    out.method = rpc.method;
    out.path = rpc.target;
    out.stack = rpc.stack_text;
    out.call_site = rpc.stack_text.front();
    return out;
  }
  std::string mended() const {
    return to_text(what_would_mend(execution, now.record.rpcs, reference.record.rpcs, logged));
  }
  bool says(const std::string& part) const { return mended().find(part) != std::string::npos; }
};

TEST(Mending, OfACallerThatWaitsIsATimeout) {
  Failing failing("timeout");
  failing.execution.verdict = Verdict::kNoTimeout;
  EXPECT_EQ(failing.mended(),
            "Give the call at `front.py:10 (handle)` a timeout: `front` waited "
            "until the silence was ended.");
  Failing body("slow-body");
  body.execution.verdict = Verdict::kNoTimeout;
  EXPECT_TRUE(body.says("a limit for its whole answer")) << body.mended();
}

TEST(Mending, OfARetryAfterItsEffectIsAnIdempotencyKey) {
  Failing failing("timeout:after when=1", "POST /charges", 200);
  failing.now.call(1, "front", "users", "POST /charges");
  EXPECT_TRUE(
      failing.says("Send an idempotency key with the call at `front.py:10 (handle)`, by "
                   "which `users` knows"))
      << failing.mended();
  Failing once("timeout:after", "POST /charges", 502);
  EXPECT_FALSE(once.says("idempotency")) << "it was not sent again";
  Failing read("timeout:after when=1");
  read.now.call(1, "front", "users", "GET /users/7");
  EXPECT_FALSE(read.says("idempotency")) << "reading twice changes nothing";
  once.execution.verdict = Verdict::kDoneTwice;
  EXPECT_TRUE(once.says("idempotency"));
}

TEST(Mending, OfAnExceptionThatNothingCaughtIsACatchAtItsCallSite) {
  Failing failing("refused");
  failing.logged = {{"front", "httpx.ConnectError", "no", "/app/front.py:10 (handle)"}};
  EXPECT_EQ(failing.mended(),
            "Catch `httpx.ConnectError` at `front.py:10 (handle)`, and answer with a fallback or "
            "with an error that the test accepts: nothing caught it, and `front` answered 500.");
  failing.logged[0].place = "/app/front.py:11 (handle)";
  EXPECT_FALSE(failing.says("httpx")) << "it was raised elsewhere";
  failing.logged = {{"other", "httpx.ConnectError", "no", "/app/front.py:10 (handle)"}};
  EXPECT_FALSE(failing.says("httpx")) << "another service logged it";
  Failing handled("refused", "GET /users/7", 503);
  handled.logged = {{"front", "httpx.ConnectError", "no", "/app/front.py:10 (handle)"}};
  EXPECT_FALSE(handled.says("Catch")) << "it was caught, and logged";
}

TEST(Mending, NamesTheFrameThatTellsTheCallFromOthersOfItsHelper) {
  Failing failing("status:503");
  for (Recipe* recipe : {&failing.reference, &failing.now}) {
    recipe->record.rpcs[1].stack_text = {"/app/http.py:3 (send)", "/app/front.py:10 (books)"};
    recipe->call(1, "front", "users", "GET /users/8").stack_text = {"/app/http.py:3 (send)",
                                                                    "/app/front.py:20 (orders)"};
  }
  failing.execution.faults[0].stack = failing.now.record.rpcs[1].stack_text;
  failing.execution.faults[0].call_site = "/app/http.py:3 (send)";
  EXPECT_TRUE(failing.says("at `front.py:10 (books)`")) << failing.mended();
}

TEST(Mending, OfAnAnswerOf500IsAHandlerAndOfAnotherErrorAFallback) {
  EXPECT_TRUE(
      Failing("refused").says("Handle a call that gets no answer at `front.py:10 (handle)`"));
  EXPECT_TRUE(Failing("status:503").says("Handle an answer of 503 at `front.py:10 (handle)`"));
  EXPECT_TRUE(Failing("latency:300ms").says("Handle an answer later by 300 ms at `front.py:10"));
  EXPECT_TRUE(Failing("redis:LOADING").says("Handle the error LOADING of Redis at `front.py:10"));
  const Failing passed_on("status:503", "GET /users/7", 502);
  EXPECT_EQ(passed_on.mended(),
            "A fallback at `front.py:10 (handle)` would let `front` answer without `users`; it "
            "passes the failure on as 502, which the test has to accept otherwise.");
}

TEST(Mending, OfAnAnswerThatHidesTheFailureIsToShowIt) {
  Failing failing("status:500", "GET /users/7", 200);
  EXPECT_EQ(failing.mended(), "") << "the same answer as without the fault";
  failing.now.record.rpcs[0].response = hash_text("half");
  EXPECT_TRUE(failing.says("Let the failure of the call at `front.py:10 (handle)` be seen"));
}

TEST(Mending, OfWhatTookEffectBeforeIsToUndoIt) {
  Failing failing("refused", "POST /charges", 502);
  for (Recipe* recipe : {&failing.reference, &failing.now}) {
    RpcRecord& reserve = recipe->call(1, "front", "stock", "POST /reserve/1", "{}", 5);
    std::swap(recipe->record.rpcs[1], reserve);
  }
  EXPECT_TRUE(
      failing.says("If it is not to stand, undo `POST /reserve/1` of `stock` where the call "
                   "at `front.py:10 (handle)` fails"))
      << failing.mended();
  failing.now.call(1, "front", "stock", "POST /release/1", "{}", 12);
  EXPECT_FALSE(failing.says("undo")) << "something was sent to it after";
}

TEST(Mending, OfACrashIsToHandleTheFaultIfItsCallerEnded) {
  Failing failing("refused");
  failing.execution.verdict = Verdict::kCrashed;
  failing.execution.detail = "front ended by SIGSEGV";
  EXPECT_EQ(
      failing.mended(),
      "Handle a call that gets no answer at `front.py:10 (handle)`, so that `front` does not end.");
  failing.execution.detail = "other ended by SIGSEGV";
  EXPECT_EQ(failing.mended(), "");
}

TEST(Mending, OfATestThatDoesNotEndIsABoundOfRetriesIfThereAreMany) {
  Failing failing("refused");
  failing.execution.verdict = Verdict::kTestTimeout;
  EXPECT_EQ(failing.mended(), "");
  for (int i = 0; i < 30; ++i) failing.now.call(1, "front", "users", "GET /users/7");
  EXPECT_TRUE(
      failing.says("Bound the retries at `front.py:10 (handle)`: it called 31 times, and 1 time"))
      << failing.mended();
}

Mending of(const Failing& failing) {
  return what_would_mend(failing.execution, failing.now.record.rpcs, failing.reference.record.rpcs,
                         failing.logged);
}

Failing caught_nothing(const std::string& fault, const std::string& type) {
  Failing out(fault);
  out.logged = {{"front", type, "no", "/app/front.py:10 (handle)"}};
  return out;
}

TEST(Mending, OfTwoExceptionsOfOneCallIsOneSentence) {
  Mending mending = of(caught_nothing("refused", "httpx.ConnectError"));
  const Mending later = of(caught_nothing("timeout", "httpx.ReadTimeout"));
  ASSERT_TRUE(says_the_same(mending, later));
  add(later, &mending);
  add(later, &mending);
  EXPECT_EQ(to_text(mending),
            "Catch `httpx.ConnectError` and `httpx.ReadTimeout` at `front.py:10 (handle)`, and "
            "answer with a fallback or with an error that the test accepts: nothing caught them, "
            "and `front` answered 500.");
  EXPECT_FALSE(says_the_same(mending, of(Failing("refused")))) << "it handles, and does not catch";
}

TEST(Mending, OfTwoAnswersIsOneSentenceUnlessTheCallerDoesAnotherThing) {
  Mending mending = of(Failing("refused"));
  for (const char* fault : {"status:500", "status:503", "reset"}) {
    const Mending other = of(Failing(fault));
    ASSERT_TRUE(says_the_same(mending, other)) << fault;
    add(other, &mending);
  }
  EXPECT_EQ(to_text(mending),
            "Handle a call that gets no answer, an answer of 500 and an answer of 503 at "
            "`front.py:10 (handle)` (a `catch` or a fallback): `front` answered 500.");
  Mending passed_on = of(Failing("status:503", "GET /users/7", 502));
  EXPECT_FALSE(says_the_same(mending, passed_on));
  add(of(Failing("status:503", "GET /users/7", 504)), &passed_on);
  EXPECT_NE(to_text(passed_on).find("passes the failure on as 502 and 504, which"),
            std::string::npos);
}

TEST(Mending, IsNotKnownWithoutTheCallThatTheFaultHit) {
  Failing failing("refused");
  failing.now.record.rpcs[1].injected = false;
  EXPECT_EQ(failing.mended(), "");
  failing.execution.faults.clear();
  EXPECT_EQ(failing.mended(), "");
}

}  // namespace
}  // namespace filibuster::lint
