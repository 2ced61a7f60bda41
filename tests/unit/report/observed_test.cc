#include "daemon/report/observed.h"

#include <gtest/gtest.h>

namespace filibuster {
namespace {

RpcRecord rpc(uint64_t index, uint64_t parent, const std::string& service,
              const std::string& target, uint16_t status) {
  RpcRecord out;
  out.index = Hash128{1, index};
  if (parent != 0) out.parent = Hash128{1, parent};
  out.service = service;
  out.method = "GET";
  out.target = target;
  out.open = false;
  out.outcome = RpcOutcome::kAnswered;
  out.status = status;
  return out;
}

RpcRecord grpc_call(uint64_t index, const std::string& service, grpc::Code code) {
  RpcRecord out = rpc(index, 0, service, "/shop.Cart/Get", 200);
  out.method = "POST";
  out.flags = kRpcGrpc;
  out.grpc_status = static_cast<uint8_t>(code);
  return out;
}

// "users /users/7 status:503 under movies timeout injected" for each.
std::vector<std::string> lines(const ObservedAnswers& answers) {
  std::vector<std::string> out;
  for (const ObservedAnswer& one : answers.all()) {
    std::string line = one.service + " " + one.path + " " + one.answer;
    for (const FailedCall& call : one.under)
      line += " under " + call.service + " " + call.what + (call.injected ? " injected" : "");
    out.push_back(line);
  }
  return out;
}
using Lines = std::vector<std::string>;

TEST(ObservedAnswers, KeepsErrorsOfTheServicesOwnWithWhatHadFailed) {
  ExecutionRecord record;
  record.rpcs = {rpc(1, 0, "users", "/users/7?token=x", 503), rpc(2, 1, "bookings", "/b", 200),
                 rpc(3, 1, "movies", "/m", 0), rpc(4, 1, "mail", "/mail", 500)};
  record.rpcs[2].injected = true;
  record.rpcs[2].fault = parse_fault("timeout").value();
  record.rpcs[2].outcome = RpcOutcome::kTimedOut;
  ObservedAnswers answers;
  EXPECT_TRUE(answers.see(record));
  EXPECT_EQ(lines(answers),
            (Lines{"mail /mail status:500",
                   "users /users/7 status:503 under movies timeout injected under mail 500"}));
  EXPECT_FALSE(answers.see(record));
}

TEST(ObservedAnswers, WhatWeAnsweredOrNobodyDidIsNotTheServices) {
  ExecutionRecord record;
  record.rpcs = {rpc(1, 0, "a", "/", 500), rpc(2, 0, "b", "/", 500), rpc(3, 0, "c", "/", 404),
                 rpc(4, 0, "d", "/", 302)};
  record.rpcs[0].injected = true;
  record.rpcs[1].outcome = RpcOutcome::kClosed;
  record.rpcs[2].open = true;
  ObservedAnswers answers;
  EXPECT_FALSE(answers.see(record));
}

TEST(ObservedAnswers, AStatusOfGrpcIsOne) {
  ExecutionRecord record;
  record.rpcs = {grpc_call(1, "cart", grpc::Code::kNotFound), grpc_call(2, "user", grpc::Code::kOk),
                 grpc_call(3, "gone", grpc::Code::kUnavailable)};
  record.rpcs[2].outcome = RpcOutcome::kRefused;
  ObservedAnswers answers;
  EXPECT_TRUE(answers.see(record));
  EXPECT_EQ(lines(answers), Lines{"cart /shop.Cart/Get grpc:NOT_FOUND"});
  EXPECT_EQ(answers.all()[0].protocol, Protocol::kGrpc);
}

TEST(ObservedAnswers, AnErrorOfRedisIsOne) {
  RpcRecord error = rpc(1, 0, "cache", "user:*", 0);
  error.flags = kRpcRedis;
  error.code_space = CodeSpace::kRedis;
  error.code = "LOADING";
  ExecutionRecord record;
  record.rpcs = {rpc(2, 0, "users", "/u", 500), error};
  record.rpcs[1].parent = record.rpcs[0].index;
  ObservedAnswers answers, resumed;
  EXPECT_TRUE(answers.see(record));
  EXPECT_EQ(lines(answers),
            (Lines{"cache user:* redis:LOADING", "users /u status:500 under cache LOADING"}));
  resumed.add_json(answers.to_json());
  EXPECT_EQ(lines(resumed), lines(answers));
  EXPECT_EQ(resumed.all()[0].protocol, Protocol::kRedis);
}

TEST(ObservedAnswers, AResumedSessionKnowsThem) {
  ExecutionRecord record;
  record.rpcs = {rpc(1, 0, "users", "/\xff", 503), rpc(2, 1, "movies", "/m", 404)};
  ObservedAnswers answers;
  answers.see(record);
  ObservedAnswers resumed;
  resumed.add_json(answers.to_json());
  EXPECT_EQ(lines(resumed).size(), 2u);
  EXPECT_EQ(lines(resumed)[0], "movies /m status:404");
  resumed.add_json("[[\"a\"]]");
  resumed.add_json("no JSON");
  EXPECT_EQ(lines(resumed).size(), 2u);
}

TEST(ObservedAnswers, AreBounded) {
  ObservedAnswers answers;
  ExecutionRecord record;
  for (uint64_t i = 0; i < 1100; ++i)
    record.rpcs.push_back(rpc(i + 1, 0, "a", "/" + std::to_string(i), 500));
  answers.see(record);
  EXPECT_EQ(answers.all().size(), ObservedAnswers::kMax);
  EXPECT_TRUE(answers.full());
}

}  // namespace
}  // namespace filibuster
