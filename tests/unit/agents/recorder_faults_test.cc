#include "tests/unit/agents/recorder_fixture.h"

namespace filibuster::test {
namespace {

class SequenceTest : public RecorderTest {
 protected:
  // The first execution shows the call, so that a fault can be planned for it in the second.
  void SetUp() override {
    first_ = rpc(id(kTest, 1), 0, {}, 5, "users", "/a");
    retry_ = rpc(id(kTest, 2), 0, {}, 6, "users", "/a");
    begin(1);
    emit(kTest, EventType::kRpcIssued, first_);
    recorder_.end(1);
    const PlannedRpcFault fault = planned(first_.index, "timeout:after, pass, status:503 when=3+");
    plan_ = {fault};
    begin(2, plan_);
  }
  void attempt(const RpcIssued& issued, uint32_t number, uint32_t entry, FaultHow how,
               std::string_view detail = "") {
    emit(kTest, EventType::kRpcIssued, issued);
    FaultFired event;
    event.how = static_cast<uint8_t>(how);
    event.rpc = issued.rpc;
    event.plan_entry = entry;
    event.attempt = number;
    event.grouped_by = number == 1 ? GroupedBy::kFirst : GroupedBy::kSameRequest;
    event.detail = detail;
    emit(kTest, EventType::kFaultFired, event);
  }
  RpcIssued first_, retry_;
  std::vector<PlannedRpcFault> plan_;
};

TEST_F(SequenceTest, ItsItemsAreRowsOfTheirOwnWithoutAnIndex) {
  const RpcMemory::Plan expanded = recorder_.expand({plan_[0], plan_[0]});
  ASSERT_EQ(expanded.rows.size(), 2u + 2 * 3);
  EXPECT_EQ(expanded.rows[1].group, 1u);
  const PlannedRpcFault& last = expanded.rows[7];
  EXPECT_TRUE(last.is_item && last.index.is_zero());
  EXPECT_EQ(to_text(last.fault), "status:503");
  EXPECT_EQ(last.when, (Occasions{3, 0, 1}));
  EXPECT_EQ(last.group, 1u);
  EXPECT_EQ(expanded.planned[7], 1u);
  EXPECT_TRUE(recorder_.spares_errors(1));
  EXPECT_FALSE(recorder_.spares_errors(0));
}

TEST_F(SequenceTest, EachAttemptHasWhatItGotAndThePlanIsMet) {
  attempt(first_, 1, 1, FaultHow::kInjected);
  attempt(retry_, 2, 2, FaultHow::kAttemptPasses);
  const ExecutionRecord record = recorder_.end(1);
  EXPECT_TRUE(record.not_injected.empty()) << "the client gave up before the third attempt";
  ASSERT_EQ(record.rpcs.size(), 2u);
  EXPECT_TRUE(record.rpcs[0].injected);
  EXPECT_EQ(to_text(record.rpcs[0].fault), "timeout:after");
  EXPECT_EQ(record.rpcs[0].attempt, 1u);
  EXPECT_FALSE(record.rpcs[1].injected);
  EXPECT_EQ(record.rpcs[1].attempt, 2u);
  EXPECT_EQ(record.rpcs[1].attempt_of, first_.index);
  EXPECT_EQ(record.rpcs[1].grouped_by, GroupedBy::kSameRequest);
}

TEST_F(SequenceTest, ThatNeverBeganIsNoMetPlan) {
  const ExecutionRecord record = recorder_.end(1);
  ASSERT_EQ(record.not_injected.size(), 1u);
  EXPECT_NE(record.not_injected[0].text.find(kNotIssued), std::string::npos);
}

TEST_F(SequenceTest, AnAttemptThatCouldNotGetItsOutcomeIsNoMetPlan) {
  attempt(first_, 1, 1, FaultHow::kInjected);
  attempt(retry_, 3, 3, FaultHow::kNotInjected, "pipelined with other requests");
  const ExecutionRecord record = recorder_.end(1);
  ASSERT_EQ(record.not_injected.size(), 1u);
  EXPECT_NE(record.not_injected[0].text.find("attempt 3 of its sequence: pipelined"),
            std::string::npos)
      << record.not_injected[0].text;
}

TEST_F(SequenceTest, AnAttemptThatWasAnsweredBeforeItsRequestWasCompleteHasThatCause) {
  attempt(first_, 1, 1, FaultHow::kNotInjected, kAnsweredFirst);
  const ExecutionRecord record = recorder_.end(1);
  ASSERT_EQ(record.not_injected.size(), 1u);
  EXPECT_EQ(record.not_injected[0].why, NoConclusion::kAnsweredEarly);
  EXPECT_NE(record.not_injected[0].text.find("attempt 1 of its sequence: the server answered"),
            std::string::npos)
      << record.not_injected[0].text;
}

TEST_F(RecorderTest, AFaultWhoseCallWasAnsweredBeforeItsRequestWasCompleteHasThatCause) {
  const RpcIssued one = rpc(id(kTest, 1), 0, {}, 5, "users", "/");
  const PlannedRpcFault fault = planned(one.index, "timeout:after");
  begin(1, {fault});
  emit(kTest, EventType::kRpcIssued, one);
  FaultFired event;
  event.how = static_cast<uint8_t>(FaultHow::kNotInjected);
  event.rpc = one.rpc;
  event.detail = kAnsweredFirst;
  emit(kTest, EventType::kFaultFired, event);
  const ExecutionRecord record = recorder_.end(1);
  ASSERT_EQ(record.not_injected.size(), 1u);
  EXPECT_EQ(record.not_injected[0].why, NoConclusion::kAnsweredEarly);
}

TEST_F(SequenceTest, AnErrorOfTheServerThatPassedStandsInThePlaceOfTheFault) {
  attempt(first_, 1, 1, FaultHow::kInjected);
  recorder_.passed(2, first_.rpc, {503, kNoGrpcStatus, key(9), 4, "busy"}, 500);
  finish(kTest, first_.rpc, true);  // as the agent believes
  const ExecutionRecord record = recorder_.end(1);
  EXPECT_TRUE(record.not_injected.empty());
  const RpcRecord& rpc = record.rpcs[0];
  EXPECT_FALSE(rpc.injected);
  EXPECT_TRUE(rpc.was_error_already);
  EXPECT_EQ(rpc.status, 503);
  EXPECT_EQ(rpc.response_sample, "busy");
  EXPECT_EQ(rpc.fault, FaultSpec{});
}

TEST_F(RecorderTest, AFaultThatHitTwoRpcsIsNoMetPlan) {
  const RpcIssued first = rpc(id(kTest, 1), 0, {}, 5, "users", "/");
  const PlannedRpcFault fault = planned(first.index, "reset");
  begin(1, {fault});
  for (uint32_t n = 1; n <= 2; ++n) {
    const RpcIssued one = rpc(id(kTest, n), 0, {}, 5, "users", "/");
    emit(kTest, EventType::kRpcIssued, one);
    fire(kTest, one.rpc, 0);
  }
  EXPECT_TRUE(any_contains(recorder_.end(1).not_injected, "2 RPCs"));
}

TEST_F(RecorderTest, ACallThatEndsBeforeItsRequestGetsTheTextsOfTheRpcItStandsFor) {
  begin(1);
  RpcIssued full = rpc(id(kTest, 1), 0, {}, 5, "users", "/users/1?x=2");
  full.flags |= kRpcEncrypted;
  full.told = "x-amz-target: a.B\nx-ms-version: 1";
  emit(kTest, EventType::kRpcIssued, full);
  finish(kTest, full.rpc);
  recorder_.end(1);

  const PlannedRpcFault fault = planned(full.index, "refused");
  begin(2, {fault});
  RpcIssued bare;
  bare.rpc = id(kTest, 2);
  bare.index = full.index;
  bare.signature = full.signature;
  bare.count = 1;
  bare.flags = kRpcRefusedAtConnect | kRpcOpensConnection;
  bare.service = "127.0.0.1";  // at connect there is no Host field yet
  bare.stack_text = "F socket.py:1 connect";
  emit(kTest, EventType::kRpcIssued, bare);
  fire(kTest, bare.rpc, 0);
  finish(kTest, bare.rpc, true);
  const ExecutionRecord record = recorder_.end(1);
  ASSERT_EQ(record.rpcs.size(), 1u);
  EXPECT_EQ(record.rpcs[0].service, "users");
  EXPECT_EQ(record.rpcs[0].target, "/users/1?x=2");
  EXPECT_EQ(record.rpcs[0].stack_text.size(), 2u);
  const std::string* told = record.rpcs[0].told_value("x-amz-target");
  ASSERT_NE(told, nullptr);
  EXPECT_EQ(*told, "a.B");
  EXPECT_EQ(record.rpcs[0].told.size(), 2u);
  EXPECT_EQ(record.rpcs[0].fault.kind, FaultKind::kRefused);
  EXPECT_NE(record.rpcs[0].flags & kRpcEncrypted, 0);
  EXPECT_TRUE(record.not_injected.empty());

  begin(3);
  bare.rpc = id(kTest, 3);
  bare.flags = kRpcEncrypted | kRpcOpensConnection;  // a fault ended its handshake
  emit(kTest, EventType::kRpcIssued, bare);
  finish(kTest, bare.rpc, true);
  const ExecutionRecord later = recorder_.end(1);
  ASSERT_EQ(later.rpcs.size(), 1u);
  EXPECT_EQ(later.rpcs[0].target, "/users/1?x=2");
}

// What came in the place of a planned RPC that was not there.
class NotIssued : public RecorderTest {
 protected:
  // Two calls of users under one request; both are known afterwards.
  void see_both() {
    begin(1);
    emit(kTest, EventType::kRpcIssued, rpc(id(kTest, 1), 0, {}, 1, "users", "/"));
    emit(kUsers, EventType::kRpcIssued, call(2, 2, "/movies/1"));
    emit(kUsers, EventType::kRpcIssued, call(3, 3, "/movies/2"));
    recorder_.end(9);
  }
  RpcIssued call(uint32_t number, uint64_t signature, std::string_view target) {
    RpcIssued out =
        rpc(id(kUsers, number), id(kTest, 1), entry().index, signature, "movies", target);
    out.cause = Cause::kThread;
    out.payload = hash_text(target);
    return out;
  }
  RpcIssued entry() { return rpc(id(kTest, 1), 0, {}, 1, "users", "/"); }
  // Why a fault planned at the second call did not come about.
  std::string reason(const std::vector<RpcIssued>& calls, const char* first_fault = "") {
    PlannedRpcFault planned;
    planned.index = call(3, 3, "/movies/2").index;
    planned.parent = entry().index;
    planned.fault = parse_fault("status:503").value();
    std::vector<PlannedRpcFault> plan = {planned};
    if (*first_fault != '\0') {
      plan.push_back(planned);
      plan.back().index = call(2, 2, "/movies/1").index;
      plan.back().fault = parse_fault(first_fault).value();
    }
    begin(2, plan);
    emit(kTest, EventType::kRpcIssued, entry());
    for (const RpcIssued& event : calls) {
      emit(kUsers, EventType::kRpcIssued, event);
      if (plan.size() < 2 || event.index != plan[1].index) continue;
      FaultFired fired;
      fired.rpc = event.rpc;
      fired.plan_entry = 1;
      emit(kUsers, EventType::kFaultFired, fired);
    }
    const ExecutionRecord record = recorder_.end(99);
    std::string all;
    for (const NotInjected& row : record.not_injected) all += row.text + "\n";
    return all;
  }
};

TEST_F(NotIssued, IsSaidWhereNothingLikeItCame) {
  see_both();
  EXPECT_TRUE(reason({call(2, 2, "/movies/1")}).ends_with("#1: its RPC was not issued\n"));
}

TEST_F(NotIssued, TellsOneWithoutACause) {
  see_both();
  RpcIssued lost = call(3, 3, "/movies/2");
  lost.parent_rpc = 0;
  lost.cause = Cause::kNone;
  lost.index = key(77);
  EXPECT_PRED_FORMAT2(::testing::IsSubstring,
                      "one like it was issued without a known cause, at users.py:31",
                      reason({lost}));
}

TEST_F(NotIssued, TellsOneOfAnotherPlace) {
  see_both();
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "one like it was issued elsewhere: at users.py:31",
                      reason({call(3, 4, "/movies/2")}));
  RpcIssued other = call(3, 3, "/movies/2");
  other.parent_rpc = 0;
  other.parent_path = key(5);
  other.index = key(78);
  EXPECT_PRED_FORMAT2(::testing::IsSubstring,
                      "one like it was issued elsewhere: for another request, at", reason({other}));
}

TEST_F(NotIssued, TellsTheClientsSecondAttempt) {
  // Both calls ask for the same; the library makes the first one again, from a place of its own.
  begin(1);
  emit(kTest, EventType::kRpcIssued, entry());
  emit(kUsers, EventType::kRpcIssued, call(2, 2, "/movies/1"));
  emit(kUsers, EventType::kRpcIssued, call(3, 3, "/movies/1"));
  recorder_.end(9);
  const std::vector<RpcIssued> calls = {call(2, 2, "/movies/1"), call(3, 9, "/movies/1")};
  EXPECT_PRED_FORMAT2(::testing::IsSubstring,
                      "the client made the call again at which reset was injected",
                      reason(calls, "reset"));
  // After an answer no library does.
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "elsewhere", reason(calls, "status:500"));
}

TEST_F(RecorderTest, ARefusalMayComeWithTheSecondAttemptOfItsClient) {
  RpcIssued call = rpc(id(kUsers, 1), 0, {}, 5, "movies", "/m");
  const PlannedRpcFault fault = planned(call.index, "refused");
  begin(1, {fault});
  emit(kUsers, EventType::kRpcIssued, call);
  fire(kUsers, call.rpc, 0, FaultHow::kResetInsteadOfRefused);
  RpcFinished reset;
  reset.rpc = call.rpc;
  reset.outcome = RpcOutcome::kReset;
  reset.injected = 1;
  emit(kUsers, EventType::kRpcFinished, reset);
  EXPECT_TRUE(recorder_.snapshot().rpcs[0].refused_as_reset());
  fire(kUsers, call.rpc, 0, FaultHow::kRefusedAfterAll);
  const ExecutionRecord record = recorder_.end(1);
  EXPECT_TRUE(record.not_injected.empty());
  EXPECT_EQ(record.rpcs[0].outcome, RpcOutcome::kRefused);
  EXPECT_FALSE(record.rpcs[0].refused_as_reset());
}

TEST_F(RecorderTest, AnotherRpcThatWasHitLeavesThePlanUnmetEvenIfTheFaultFired) {
  RpcIssued other = rpc(id(kUsers, 1), 0, {}, 5, "movies", "/other");
  RpcIssued call = rpc(id(kUsers, 2), 0, {}, 6, "movies", "/m");
  const PlannedRpcFault fault = planned(call.index, "refused");
  begin(1, {fault});
  emit(kUsers, EventType::kRpcIssued, other);
  fire(kUsers, other.rpc, 0, FaultHow::kHitAnother);
  emit(kUsers, EventType::kRpcIssued, call);
  fire(kUsers, call.rpc, 0);
  finish(kUsers, call.rpc, true);
  const ExecutionRecord record = recorder_.end(1);
  EXPECT_TRUE(any_contains(record.not_injected, "/other"));
  EXPECT_FALSE(record.rpcs[0].injected);
}

}  // namespace
}  // namespace filibuster::test
