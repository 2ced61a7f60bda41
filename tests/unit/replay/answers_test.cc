#include "daemon/replay/answers.h"

#include <gtest/gtest.h>

#include "core/protocol/events.h"
#include "tests/unit/cases/recipe.h"

namespace filibuster::replay {
namespace {

using cases::DifferenceKind;
using cases::Judged;

class NoRecordings final : public Recordings {
 public:
  Result<void> start(std::shared_ptr<RecordingSink>, What) override { return {}; }
  void stop() override {}
  void look() override {}
};

constexpr uint16_t kPort = 5000;   // of the service's only connection, which is number 1 of agent 1
constexpr uint32_t kEntry = 1000;  // the entry of execution 7 is RPC 1007

class CaseAnswersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ConnectionSeen seen;
    seen.connection = 1;
    seen.local_port = kPort;
    tell(EventType::kConnectionSeen, seen, 0);
    cases::add_call(&case_, cases::http_input("pricing", "GET", "/tax"), "1");
    cases::add_call(&case_, cases::http_input("pricing", "GET", "/prices"), "2");
    case_.request.method = "GET";
    case_.request.target = "/orders";
    case_.answer.status = 200;
  }

  template <typename Event>
  void tell(EventType type, const Event& event, uint32_t execution) {
    uint8_t bytes[kMaxEvent];
    const size_t size = encode(event, bytes, sizeof bytes);
    ASSERT_GT(size, 0u);
    EventSource source;
    source.agent = 1;
    EventHead head;
    head.type = static_cast<uint16_t>(type);
    head.execution = execution;
    places_->event(source, head, {bytes, size});
  }
  void begin(uint32_t execution) {
    answers_.begin(case_, execution);
    RpcIssued entry;
    entry.rpc = kEntry + execution;
    entry.flags = kRpcEntry;
    tell(EventType::kRpcIssued, entry, execution);
  }
  // A call of the request of that execution. `late`: that is over.
  stubs::Reply call(uint32_t execution, const std::string& path, bool late = false) {
    RpcIssued issued;
    issued.rpc = ++calls_;
    issued.parent_rpc = kEntry + execution;
    if (late) issued.flags = kRpcLate;
    tell(EventType::kRpcIssued, issued, execution);
    tell(EventType::kRpcAt, RpcAt{calls_, 1, calls_, 0}, execution);
    stubs::Call out;
    out.service = "pricing";
    out.method = "GET";
    out.path = path;
    out.client_port = kPort;
    out.number = calls_ - 1;
    return answers_.reply(std::move(out));
  }
  cases::Verdict end() {
    cases::EntryEnd out;
    out.answer = case_.answer;
    return answers_.end(out, {});
  }

  cases::Case case_;
  LoadedSet set_ = [] {
    LoadedSet out;
    out.set.service = "orders";
    out.rules = cases::rules_of(out.set).value();
    return out;
  }();
  NoRecordings recordings_;
  std::shared_ptr<Places> places_ = std::make_shared<Places>();
  CaseAnswers answers_{set_, &recordings_, places_};
  uint64_t calls_ = 0;
};

TEST_F(CaseAnswersTest, ACallThatComesWhileTheAnswerIsHeldBackDoesNotWaitForIt) {
  begin(1);
  const stubs::Reply tax = call(1, "/tax");
  EXPECT_EQ(tax.answer.delay, kHold);
  ASSERT_NE(tax.ticket, 0u);
  EXPECT_EQ(call(1, "/prices").ticket, 0u) << "nothing waits for it";
  answers_.leaves(tax.ticket);
  const cases::Verdict verdict = end();
  ASSERT_EQ(verdict.judged, Judged::kDiffers);
  EXPECT_EQ(verdict.differences.front().kind, DifferenceKind::kOrder);
}

TEST_F(CaseAnswersTest, AnAnswerIsHeldBackOnceForTwoPlaces) {
  begin(1);
  answers_.leaves(call(1, "/tax").ticket);
  call(1, "/prices");
  EXPECT_EQ(end().judged, Judged::kPassed);
  begin(3);
  EXPECT_EQ(call(3, "/tax").answer.delay.count(), 0);
  call(3, "/prices");
  EXPECT_EQ(end().judged, Judged::kPassed);
  answers_.hold_again();
  begin(5);
  EXPECT_EQ(call(5, "/tax").answer.delay, kHold);
}

TEST_F(CaseAnswersTest, CallsThatWereUnderWayTogetherAreNotHeldBack) {
  case_.calls[1].after.clear();
  begin(1);
  EXPECT_EQ(call(1, "/tax").answer.delay.count(), 0);
  call(1, "/prices");
  EXPECT_EQ(end().judged, Judged::kPassed);
}

TEST_F(CaseAnswersTest, ACallOfARequestThatIsOverIsToldWithItsCase) {
  begin(1);
  answers_.leaves(call(1, "/tax").ticket);
  EXPECT_EQ(end().differences.front().kind, DifferenceKind::kMissing);
  begin(3);
  // It is answered from its own case, although the one that runs has the same call.
  EXPECT_EQ(call(1, "/prices", true).answer.body, "2");
  call(3, "/tax");
  call(3, "/prices");
  EXPECT_EQ(end().judged, Judged::kPassed);
  Rejudged changed = answers_.rejudged();
  ASSERT_EQ(changed.size(), 1u);
  EXPECT_EQ(changed.at(1).judged, Judged::kPassed);
  EXPECT_FALSE(call(1, "/audit", true).problem.empty());
  changed = answers_.rejudged();
  ASSERT_EQ(changed.size(), 1u);
  EXPECT_EQ(changed.at(1).differences.front().kind, DifferenceKind::kExtra);
  EXPECT_TRUE(answers_.rejudged().empty()) << "each change is told once";
  EXPECT_TRUE(answers_.process_misses().empty());
}

}  // namespace
}  // namespace filibuster::replay
