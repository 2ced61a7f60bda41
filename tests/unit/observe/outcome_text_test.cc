#include <gtest/gtest.h>

#include "daemon/observe/observation.h"
#include "tests/unit/observe/record_recipe.h"

namespace filibuster::test {
namespace {

TEST(OutcomeText, SaysWhatTheCallerSaw) {
  EXPECT_EQ(outcome_text(rpc_with(RpcOutcome::kAnswered, 200)), "ok:200:" + to_hex(Hash128{}));
  RpcRecord degraded = rpc_with(RpcOutcome::kAnswered, 200);
  degraded.response = hash_text("nothing to show");
  EXPECT_NE(outcome_text(degraded), outcome_text(rpc_with(RpcOutcome::kAnswered, 200)));
  EXPECT_EQ(outcome_text(rpc_with(RpcOutcome::kAnswered, 404)), "status:404");
  EXPECT_EQ(outcome_text(rpc_with(RpcOutcome::kRefused)), "refused");
  EXPECT_EQ(outcome_text(rpc_with(RpcOutcome::kReset)), "reset");
  // Other clients tell an end from a reset than those that the published reduction is for.
  EXPECT_EQ(outcome_text(rpc_with(RpcOutcome::kClosed)), "reset=closed");
  EXPECT_EQ(status_alone("reset=closed"), "reset");
  EXPECT_EQ(outcome_text(rpc_with(RpcOutcome::kTimedOut)), "timeout");
  EXPECT_EQ(outcome_text(rpc_with(RpcOutcome::kGarbled)), "garbled");
  for (const RpcOutcome outcome :
       {RpcOutcome::kTimedOut, RpcOutcome::kReset, RpcOutcome::kClosed}) {
    RpcRecord left = rpc_with(outcome);
    left.begun = 200;
    EXPECT_NE(outcome_text(left), outcome_text(rpc_with(outcome)))
        << "the caller has read the head of an answer";
    EXPECT_EQ(status_alone(outcome_text(left)), status_alone(outcome_text(rpc_with(outcome))));
  }
  EXPECT_EQ(outcome_text(RpcRecord{}), "");
}

TEST(OutcomeText, InWordsIsWhatAPersonLooksFor) {
  const std::pair<const char*, const char*> rows[] = {{"", "open"},
                                                      {"ok:200:0123abcd", "200"},
                                                      {"ok:204", "204"},
                                                      {"ok", "answered"},
                                                      {"ok:0123abcd", "answered"},
                                                      {"status:503=0123abcd", "503"},
                                                      {"status:404", "404"},
                                                      {"timeout=within 200", "timeout"},
                                                      {"grpc:UNAVAILABLE=x", "grpc:UNAVAILABLE"}};
  for (const auto& [outcome, words] : rows) {
    EXPECT_EQ(outcome_in_words(outcome), words) << outcome;
    EXPECT_EQ(is_good_outcome(outcome), std::string_view(outcome).starts_with("ok")) << outcome;
  }
}

TEST(OutcomeText, OfAnAnswerThatWasNotReadIsItsStatus) {
  RpcRecord left = rpc_with(RpcOutcome::kNotRead, 200);
  left.begun = 200;
  RpcRecord read = rpc_with(RpcOutcome::kAnswered, 200);
  read.response = hash_text("all of it");
  EXPECT_EQ(outcome_text(left), "ok:200=not read");
  EXPECT_NE(outcome_text(left), outcome_text(read));
  EXPECT_EQ(outcome_text(left, true), outcome_text(read, true));
  EXPECT_TRUE(may_be_same(outcome_text(left), outcome_text(read)));
  EXPECT_TRUE(may_be_same(outcome_text(read, true), outcome_text(left)));
  RpcRecord other = read;
  other.response = hash_text("something else");
  EXPECT_FALSE(may_be_same(outcome_text(read), outcome_text(other)));
  RpcRecord failed = rpc_with(RpcOutcome::kNotRead, 503);
  EXPECT_FALSE(may_be_same(outcome_text(left), outcome_text(failed)));
  EXPECT_FALSE(may_be_same(outcome_text(left), "timeout"));
  RpcRecord said = rpc_with(RpcOutcome::kAnswered, 503);
  said.response = hash_text("it is down");
  EXPECT_TRUE(may_be_same(outcome_text(said), outcome_text(failed)));
  EXPECT_EQ(outcome_text(said, true), outcome_text(failed, true));
  EXPECT_EQ(status_alone(outcome_text(failed)), "status:503");
  EXPECT_TRUE(failed.answered_with_error());
  EXPECT_TRUE(left.answered());
}

RpcRecord grpc_call(uint8_t code, uint16_t status = 200) {
  RpcRecord rpc = rpc_with(RpcOutcome::kAnswered, status);
  rpc.flags = kRpcHttp2 | kRpcGrpc;
  rpc.method = "POST";
  rpc.target = "/shop.CartService/GetCart";
  rpc.grpc_status = code;
  return rpc;
}

TEST(OutcomeText, OfAGrpcCallIsItsStatusWhateverHttpSays) {
  EXPECT_EQ(outcome_text(grpc_call(14)), "grpc:UNAVAILABLE");
  EXPECT_EQ(outcome_text(grpc_call(14)), fault_key(fault("grpc:14")));
  RpcRecord told = grpc_call(14);
  told.response = hash_text("try later");
  EXPECT_EQ(outcome_text(told), "grpc:UNAVAILABLE=" + to_hex(hash_text("try later")));
  EXPECT_EQ(status_alone(outcome_text(told)), outcome_text(grpc_call(14)));
  EXPECT_NE(outcome_text(grpc_call(13)), outcome_text(grpc_call(14)));
  EXPECT_EQ(outcome_text(grpc_call(0)), "ok:200:" + to_hex(Hash128{}));
  EXPECT_EQ(outcome_text(grpc_call(0), true), "ok:200");
  EXPECT_EQ(outcome_text(grpc_call(kNoGrpcStatus)), "no grpc-status");
  // A proxy's answer, which clients map.
  EXPECT_EQ(outcome_text(grpc_call(14, 503)), fault_key(fault("status:503")));
}

RpcRecord command(const std::string& method, const std::string& key) {
  RpcRecord rpc = rpc_with(RpcOutcome::kAnswered);
  rpc.flags = kRpcRedis;
  rpc.method = method;
  rpc.target = key;
  rpc.response = hash_text("$1\r\na\r\n");
  return rpc;
}

TEST(OutcomeText, OfACommandToRedisIsItsErrorOrItsReply) {
  RpcRecord rpc = command("GET", "user:*");
  EXPECT_EQ(outcome_text(rpc), "ok:" + to_hex(rpc.response));
  EXPECT_EQ(outcome_text(rpc, true), "ok");
  EXPECT_FALSE(rpc.answered_with_error());
  rpc.code_space = CodeSpace::kRedis;
  rpc.code = "LOADING";
  EXPECT_TRUE(rpc.answered_with_error());
  EXPECT_EQ(outcome_text(rpc), "redis:LOADING=" + to_hex(rpc.response));
  EXPECT_EQ(outcome_text(rpc, true), "redis:LOADING=varies");
  EXPECT_EQ(status_alone(outcome_text(rpc)), fault_key(fault("redis:LOADING")));
  rpc.outcome = RpcOutcome::kRefused;
  EXPECT_EQ(outcome_text(rpc), "refused");
}

TEST(OutcomeText, OfAStreamThatWasResetNamesTheErrorCode) {
  RpcRecord rpc = grpc_call(kNoGrpcStatus, 0);
  rpc.outcome = RpcOutcome::kReset;
  EXPECT_EQ(outcome_text(rpc), "reset");  // the connection
  rpc.stream_error = 7;
  EXPECT_EQ(outcome_text(rpc), "reset:REFUSED_STREAM");
  rpc.stream_error = 77;
  EXPECT_EQ(outcome_text(rpc), "reset:error 77");
}

TEST(OutcomeText, OfAnInjectedFaultIsTheFaultAlsoWhileOpen) {
  RpcRecord rpc;
  rpc.injected = true;
  rpc.fault = fault("timeout:after");
  EXPECT_EQ(outcome_text(rpc), "timeout:after");
}

TEST(OutcomeText, OrganicAndInjectedStatusesAreEqualUnlessTheBodyDiffers) {
  EXPECT_EQ(fault_key(fault("status:503")), outcome_text(rpc_with(RpcOutcome::kAnswered, 503)));
  FaultSpec with_body = fault("status:503");
  with_body.body = "{}";
  EXPECT_NE(fault_key(with_body), "status:503");
  FaultSpec with_header = fault("status:503");
  with_header.headers = {{"Retry-After", "1"}};
  EXPECT_NE(fault_key(with_header), fault_key(with_body));
  // Nothing of it is a part of its status, so the published reduction keeps it apart, too.
  EXPECT_EQ(status_alone(fault_key(with_body)), fault_key(with_body));

  RpcRecord empty = rpc_with(RpcOutcome::kAnswered, 503);
  empty.response = hash_text("");
  EXPECT_EQ(outcome_text(empty), "status:503");
  RpcRecord told = empty;
  told.response = hash_text("no stock");
  EXPECT_EQ(outcome_text(told), "status:503=" + to_hex(hash_text("no stock")));
  EXPECT_EQ(status_alone(outcome_text(told)), "status:503");
  // What varies is unlike what says nothing.
  EXPECT_EQ(outcome_text(told, true), "status:503=varies");
  EXPECT_EQ(outcome_text(empty, true), "status:503");
}

TEST(OutcomeText, OfAnAnswerThatVariesSaysSoForFailuresOnlyWhereFailuresVaried) {
  RpcRecord rpc = rpc_with(RpcOutcome::kAnswered, 500);
  rpc.caller = "front";
  rpc.service = "a";
  rpc.response = hash_text("it failed");
  UnstableRpcs unstable;
  UnstableKind kind{"front", "a", rpc.method, "", {}, "the answer varies"};
  kind.answer = true;
  unstable.add(kind);
  EXPECT_FALSE(unstable.answer_varies(rpc));
  kind.failed = true;
  unstable.add(kind);
  EXPECT_TRUE(unstable.answer_varies(rpc));
  const auto again = UnstableRpcs::from_json(unstable.to_json());
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again.value().answer_varies(rpc));
}

}  // namespace
}  // namespace filibuster::test
