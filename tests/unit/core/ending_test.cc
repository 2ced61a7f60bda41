#include "core/rpc/ending.h"

#include <gtest/gtest.h>

namespace filibuster {
namespace {

RpcEnding answered(uint16_t status, uint8_t grpc_status = kNoGrpcStatus) {
  RpcEnding out;
  out.status = status;
  out.grpc_status = grpc_status;
  return out;
}

TEST(RpcEnding, FailsByItsStatus) {
  for (const uint16_t status : {200, 204, 304, 399})
    EXPECT_FALSE(answered(status).failed(Protocol::kHttp)) << status;
  for (const uint16_t status : {400, 404, 503})
    EXPECT_TRUE(answered(status).is_error(Protocol::kHttp)) << status;
}

TEST(RpcEnding, OfGrpcFailsByItsGrpcStatusAndWithoutOne) {
  EXPECT_FALSE(answered(200, 0).failed(Protocol::kGrpc));
  EXPECT_TRUE(answered(200, 14).is_error(Protocol::kGrpc));
  EXPECT_TRUE(answered(200).is_error(Protocol::kGrpc));
  EXPECT_FALSE(answered(200).failed(Protocol::kHttp));
}

TEST(RpcEnding, OfRedisFailsByItsWord) {
  RpcEnding ending = answered(0);
  EXPECT_FALSE(ending.failed(Protocol::kRedis));
  ending.code_space = CodeSpace::kRedis;
  EXPECT_TRUE(ending.is_error(Protocol::kRedis));
}

TEST(RpcEnding, OfAnAnswerThatWasLeftIsThatOfItsStatus) {
  RpcEnding left = answered(200);
  left.outcome = RpcOutcome::kNotRead;
  EXPECT_FALSE(left.failed(Protocol::kHttp));
  left.status = 503;
  EXPECT_TRUE(left.is_error(Protocol::kHttp));
}

TEST(RpcEnding, WithoutAnAnswerFailsAndIsNoError) {
  for (const RpcOutcome outcome : {RpcOutcome::kRefused, RpcOutcome::kReset, RpcOutcome::kClosed,
                                   RpcOutcome::kTimedOut, RpcOutcome::kGarbled}) {
    RpcEnding ending = answered(503);
    ending.outcome = outcome;
    EXPECT_TRUE(ending.failed(Protocol::kHttp)) << outcome_name(outcome);
    EXPECT_FALSE(ending.is_error(Protocol::kHttp)) << outcome_name(outcome);
  }
}

}  // namespace
}  // namespace filibuster
