#include "tests/unit/agents/recorder_fixture.h"

namespace filibuster::test {
namespace {

TEST_F(RecorderTest, EveryIndexThatContainsAPreliminaryOneIsRewritten) {
  begin(1);
  RpcIssued outer = rpc(id(kTest, 1), 0, {}, 5, "users", "/upload");
  outer.flags = kRpcPreliminary;
  RpcIssued middle = rpc(id(kUsers, 1), outer.rpc, outer.index, 6, "movies", "/m");
  RpcIssued inner = rpc(id(kMovies, 1), middle.rpc, middle.index, 7, "store", "/s");
  emit(kMovies, EventType::kRpcIssued, inner);  // whatever ring is read first
  emit(kUsers, EventType::kRpcIssued, middle);
  emit(kTest, EventType::kRpcIssued, outer);
  RpcFinalized finalized = finalization(outer.rpc, key(71));
  finalized.payload = key(70);
  emit(kTest, EventType::kRpcFinalized, finalized);

  const ExecutionRecord record = recorder_.end(1);
  ASSERT_EQ(record.rpcs.size(), 3u);
  std::unordered_map<std::string, const RpcRecord*> by_service;
  for (const RpcRecord& one : record.rpcs) by_service[one.service] = &one;
  const RpcRecord& users = *by_service.at("users");
  const RpcRecord& movies = *by_service.at("movies");
  const RpcRecord& store = *by_service.at("store");
  EXPECT_EQ(users.index, finalized.index);
  EXPECT_EQ(users.payload, key(70));
  EXPECT_EQ(users.flags & kRpcPreliminary, 0);
  EXPECT_EQ(movies.parent, users.index);
  EXPECT_EQ(movies.index, extend_path(users.index, key(6), 1, kIndexAll));
  EXPECT_NE(movies.index, middle.index);
  EXPECT_EQ(store.parent, movies.index);
  EXPECT_EQ(store.index, extend_path(movies.index, key(7), 1, kIndexAll));
}

TEST_F(RecorderTest, AStreamIsCountedAmongThoseOfItsFinalSignature) {
  // Opened as the first, second and third of what looked the same; then the payloads come.
  const Hash128 hello = key(71), world = key(72);
  const auto finals = [&](std::vector<Hash128> signatures) {
    begin(1);
    for (uint32_t n = 1; n <= signatures.size(); ++n) {
      RpcIssued stream = rpc(id(kTest, n), 0, {}, 5, "users", "/upload");
      stream.flags = kRpcPreliminary;
      stream.count = n;
      stream.index = extend_path({}, stream.signature, n, kIndexAll);
      emit(kTest, EventType::kRpcIssued, stream);
      emit(kTest, EventType::kRpcFinalized, finalization(stream.rpc, signatures[n - 1], n));
    }
    std::vector<std::pair<uint32_t, Hash128>> seen;
    for (const RpcRecord& one : recorder_.end(1).rpcs) seen.emplace_back(one.count, one.index);
    return seen;
  };
  const auto index = [](Hash128 signature, uint32_t k) {
    return std::pair(k, extend_path({}, signature, k, kIndexAll));
  };
  EXPECT_EQ(finals({hello, world, hello}),
            (std::vector{index(hello, 1), index(world, 1), index(hello, 2)}));
  EXPECT_EQ(finals({world, hello, hello}),
            (std::vector{index(world, 1), index(hello, 1), index(hello, 2)}));
}

TEST_F(RecorderTest, APlannedFaultUnderARewrittenIndexIsPlannedUnderItsWireIndexToo) {
  RpcIssued outer = rpc(id(kTest, 1), 0, {}, 5, "users", "/upload");
  outer.flags = kRpcPreliminary;
  const RpcIssued inner = rpc(id(kUsers, 1), outer.rpc, outer.index, 6, "movies", "/m");
  const RpcFinalized finalized = finalization(outer.rpc, key(71));
  begin(1);
  emit(kTest, EventType::kRpcIssued, outer);
  emit(kUsers, EventType::kRpcIssued, inner);
  emit(kTest, EventType::kRpcFinalized, finalized);
  const Hash128 wanted = recorder_.end(1).rpcs[1].index;
  ASSERT_NE(wanted, inner.index);

  PlannedRpcFault fault = planned(wanted, "reset");
  fault.number = 2;
  const RpcMemory::Plan expanded = recorder_.expand({fault});
  ASSERT_EQ(expanded.rows.size(), 2u);
  EXPECT_EQ(expanded.rows[1].index, inner.index);
  EXPECT_EQ(expanded.rows[1].parent, outer.index);
  EXPECT_EQ(expanded.rows[0].number, 0u);
  EXPECT_EQ(expanded.rows[1].number, 2u);
  begin(2, {fault});
  emit(kTest, EventType::kRpcIssued, outer);
  emit(kUsers, EventType::kRpcIssued, inner);
  fire(kUsers, inner.rpc, 1);
  finish(kUsers, inner.rpc, true);
  emit(kTest, EventType::kRpcFinalized, finalized);
  const ExecutionRecord record = recorder_.end(1);
  EXPECT_TRUE(record.not_injected.empty());
  EXPECT_EQ(record.rpcs[1].index, wanted);
  EXPECT_TRUE(record.rpcs[1].injected);
}

TEST_F(RecorderTest, AStreamFaultedBeforeItsFirstMessageSaidWhatItsIndexMeans) {
  RpcIssued stream = rpc(id(kTest, 1), 0, {}, 5, "users", "/shop.UserService/Import");
  stream.flags = kRpcPreliminary;
  RpcBody body;
  body.rpc = stream.rpc;
  body.body = "first";
  const RpcFinalized finalized = finalization(stream.rpc, key(71));
  begin(1);
  emit(kTest, EventType::kRpcIssued, stream);
  emit(kTest, EventType::kRpcBody, body);
  emit(kTest, EventType::kRpcFinalized, finalized);
  ASSERT_EQ(recorder_.end(1).rpcs[0].body_sample, "first");

  const PlannedRpcFault fault = planned(finalized.index, "reset");
  begin(2, {fault});
  emit(kTest, EventType::kRpcIssued, stream);
  EXPECT_EQ(recorder_.snapshot().rpcs[0].body_sample, "");  // nobody knows yet which one it is
  fire(kTest, stream.rpc, 1);
  EXPECT_EQ(recorder_.snapshot().rpcs[0].body_sample, "first");
  body.body = "other";
  emit(kTest, EventType::kRpcBody, body);
  EXPECT_EQ(recorder_.end(1).rpcs[0].body_sample, "other");
}

TEST_F(RecorderTest, TwoStreamsThatShareAPreliminaryIndexAreNeverGuessed) {
  begin(1);
  std::vector<Hash128> finals;
  for (uint32_t n = 1; n <= 2; ++n) {
    RpcIssued stream = rpc(id(kTest, n), 0, {}, 5, "users", "/upload");
    stream.flags = kRpcPreliminary;
    emit(kTest, EventType::kRpcIssued, stream);
    const RpcFinalized finalized = finalization(stream.rpc, key(70 + n));
    finals.push_back(finalized.index);
    emit(kTest, EventType::kRpcFinalized, finalized);
  }
  recorder_.end(1);
  const PlannedRpcFault fault = planned(finals[0], "reset");
  EXPECT_EQ(recorder_.expand({fault}).rows.size(), 1u);
  begin(2, {fault});
  const auto missing = recorder_.end(1).not_injected;
  EXPECT_TRUE(any_contains(missing, "share its preliminary index"));
  EXPECT_EQ(missing.at(0).why, NoConclusion::kSharedPreliminary);
}

TEST_F(RecorderTest, ABodyThatOnceCameLateIsNotLookedForBeforeItComes) {
  RpcIssued late = rpc(id(kTest, 1), 0, {}, 5, "users", "/upload?a");
  late.flags = kRpcPreliminary;
  const RpcIssued other = rpc(id(kTest, 2), 0, {}, 5, "users", "/upload?b");
  const RpcFinalized finalized = finalization(late.rpc, key(71));
  const PlannedRpcFault fault = planned(finalized.index, "reset");
  for (uint32_t execution = 1; execution <= 2; ++execution) {
    begin(execution, {fault});
    emit(kTest, EventType::kRpcIssued, late);
    emit(kTest, EventType::kRpcFinalized, finalized);
    EXPECT_TRUE(any_contains(recorder_.end(1).not_injected, "before its body was known"));
    EXPECT_EQ(recorder_.expand({fault}).rows.size(), execution == 1 ? 2u : 1u);
    // The first execution has only it; to the second belongs another one of that call site.
    begin(10 + execution);
    if (execution == 1) emit(kTest, EventType::kRpcIssued, other);
    recorder_.end(1);
  }
  EXPECT_FALSE(recorder_.expand({fault}).ambiguous[0]);
}

TEST_F(RecorderTest, ALongBodyIsLookedForBeforeItCame) {
  const RpcIssued small = rpc(id(kTest, 1), 0, {}, 5, "users", "/upload");
  RpcIssued large = rpc(id(kTest, 2), 0, {}, 5, "users", "/upload");
  large.flags = kRpcPreliminary | kRpcPayloadTruncated;
  const RpcFinalized finalized = finalization(large.rpc, key(71));
  begin(1);
  emit(kTest, EventType::kRpcIssued, small);
  emit(kTest, EventType::kRpcIssued, large);
  emit(kTest, EventType::kRpcFinalized, finalized);
  recorder_.end(1);
  const PlannedRpcFault fault = planned(finalized.index, "reset");
  EXPECT_EQ(recorder_.expand({fault}).rows.size(), 2u);
}

TEST_F(RecorderTest, WhatARequestCausesIsLookedForAsItIs) {
  // Two requests of one call site, each of which causes a call; one of them is under way before its
  // body is known.
  for (const bool long_body : {false, true}) {
    SCOPED_TRACE(long_body);
    const std::string path = long_body ? "/long" : "/short";
    const uint64_t at = long_body ? 20 : 10;
    RpcIssued late = rpc(id(kTest, 1), 0, {}, at, "users", path);
    late.flags = kRpcPreliminary;
    if (long_body) late.flags |= kRpcPayloadTruncated;
    const RpcIssued of_late = rpc(id(kUsers, 1), late.rpc, late.index, at + 1, "movies", path);
    const RpcIssued whole = rpc(id(kTest, 2), 0, {}, at + 2, "users", path);
    const RpcIssued of_whole = rpc(id(kUsers, 2), whole.rpc, whole.index, at + 1, "movies", path);
    begin(1);
    for (const RpcIssued& one : {late, whole}) emit(kTest, EventType::kRpcIssued, one);
    for (const RpcIssued& one : {of_late, of_whole}) emit(kUsers, EventType::kRpcIssued, one);
    emit(kTest, EventType::kRpcFinalized, finalization(late.rpc, key(long_body ? 71 : 72)));
    const ExecutionRecord record = recorder_.end(1);
    for (const RpcRecord& one : record.rpcs) {
      const PlannedRpcFault fault = planned(one.index, "reset");
      const bool under_two_names = one.index != whole.index && one.index != of_whole.index;
      EXPECT_EQ(recorder_.expand({fault}).rows.size(), under_two_names && long_body ? 2u : 1u);
    }
  }
}

}  // namespace
}  // namespace filibuster::test
