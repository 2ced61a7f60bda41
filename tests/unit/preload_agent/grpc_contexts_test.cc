// Which RPC a thread of a gRPC server works for, event by event, without a gRPC.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "core/rpc/header_field.h"
#include "preload/runtimes/grpc/contexts.h"
#include "preload/runtimes/grpc/pointer_table.h"

namespace filibuster::preload::grpc {
namespace {

const Queue* queue(uintptr_t number) {
  return reinterpret_cast<const Queue*>(number * 64);
}

// A request's metadata with our field in it, as gRPC would give it.
struct Request {
  explicit Request(uint64_t rpc) {
    RpcContext context;
    context.session = 1;
    context.execution = 1;
    context.rpc = rpc;
    encode_header_value(context, value);
    elements[0] = field("other", "x");
    elements[1] = field(kHeaderName, std::string_view(value, sizeof value));
    array = {2, 2, elements};
  }
  static Metadata field(std::string_view name, std::string_view value) {
    Metadata element{};
    element.key.inlined.size = static_cast<uint8_t>(name.size());
    std::memcpy(element.key.inlined.bytes, name.data(), name.size());
    element.value.references = reinterpret_cast<void*>(1);
    element.value.counted = {value.size(), reinterpret_cast<const uint8_t*>(value.data())};
    return element;
  }
  char tag[64];  // of a synchronous request: the object that the array stands in
  MetadataArray array;
  Metadata elements[2];
  char value[kHeaderValueSize];
};

uint64_t works_for() {
  const TaskContext task = current_task();
  return task.state == TaskContext::State::kRequest ? task.cause.rpc : 0;
}

class GrpcContexts : public testing::Test {
 protected:
  void TearDown() override {
    for (uintptr_t q = 1; q < 4; ++q) queue_asked(queue(q));
    swap_task({});
  }
  static void deliver(const Queue* from, void* tag, bool good = true) {
    event_delivered(from, {kOpComplete, good ? 1 : 0, tag});
  }
  // Started for what this thread works for.
  static void start(void* tag) { operation_starts(tag, current_task()); }
  int tags_[8] = {};
};

TEST_F(GrpcContexts, ARequestHoldsUntilItsQueueIsAskedAgain) {
  Request one(11), two(12);
  request_awaited(&tags_[0], &one.array);
  request_awaited(&tags_[1], &two.array);
  deliver(queue(1), &tags_[0]);
  EXPECT_EQ(works_for(), 11u);
  queue_asked(queue(2));
  EXPECT_EQ(works_for(), 11u) << "another queue, in the middle of the work";
  queue_asked(queue(1));
  EXPECT_EQ(works_for(), 0u);
  deliver(queue(1), &tags_[1]);
  EXPECT_EQ(works_for(), 12u);
}

TEST_F(GrpcContexts, ASynchronousRequestIsFoundByTheObjectThatHoldsItsMetadata) {
  Request one(21), other(22);
  array_begins(&one.array);
  array_begins(&other.array);
  deliver(queue(1), one.tag);
  EXPECT_EQ(works_for(), 21u);
  queue_asked(queue(1));
  deliver(queue(1), one.tag, false);
  EXPECT_EQ(works_for(), 0u) << "the queue is shut down";
  array_ends(&one.array);
  array_ends(&other.array);
  deliver(queue(1), one.tag);
  EXPECT_EQ(works_for(), 0u) << "it is gone";
}

TEST_F(GrpcContexts, WhatAnOperationCompletesGoesOnForWhatItWasStartedFor) {
  Request one(31);
  request_awaited(&tags_[0], &one.array);
  deliver(queue(1), &tags_[0]);
  start(&tags_[1]);
  queue_asked(queue(1));
  deliver(queue(1), &tags_[1]);
  EXPECT_EQ(works_for(), 31u);
  queue_asked(queue(1));
  deliver(queue(1), &tags_[1]);
  EXPECT_EQ(works_for(), 0u) << "once";
}

TEST_F(GrpcContexts, OperationsOfOneTagAreNotToldApart) {
  Request one(41);
  start(&tags_[1]);
  request_awaited(&tags_[0], &one.array);
  deliver(queue(1), &tags_[0]);
  start(&tags_[1]);
  queue_asked(queue(1));
  for (int i = 0; i < 2; ++i) {
    deliver(queue(1), &tags_[1]);
    EXPECT_EQ(works_for(), 0u);
  }
}

TEST_F(GrpcContexts, AnEventOfAnotherRequestInTheMiddleOfOneIsOfNone) {
  Request one(51), two(52);
  request_awaited(&tags_[0], &one.array);
  request_awaited(&tags_[1], &two.array);
  deliver(queue(1), &tags_[0]);
  start(&tags_[2]);
  queue_asked(queue(1));
  deliver(queue(1), &tags_[1]);
  queue_asked(queue(2));
  deliver(queue(2), &tags_[2]);
  EXPECT_EQ(works_for(), 0u) << "which of the two goes on is not known";
}

TEST_F(GrpcContexts, ARequestWithoutOurFieldIsNotKnown) {
  Request one(61);
  one.elements[1] = Request::field(kHeaderName, "damaged");
  request_awaited(&tags_[0], &one.array);
  deliver(queue(1), &tags_[0]);
  EXPECT_EQ(works_for(), 0u);
}

TEST_F(GrpcContexts, WhatWasNotStartedIsForgotten) {
  Request one(71);
  request_awaited(&tags_[0], &one.array);
  deliver(queue(1), &tags_[0]);
  start(&tags_[1]);
  operation_forgotten(&tags_[1]);
  start(&tags_[2]);
  operation_awaited(&tags_[2]);
  queue_asked(queue(1));
  for (int i : {1, 2}) {
    deliver(queue(1), &tags_[i]);
    EXPECT_EQ(works_for(), 0u);
  }
}

TEST(PointerTable, HoldsWhatFitsAndFindsTheNextKey) {
  static PointerTable<int, 64> table;
  char memory[1024];
  int value = 0;
  for (int i = 0; i < 16; ++i) EXPECT_TRUE(table.insert(memory + 16 * i, i));
  EXPECT_TRUE(table.find(memory + 16, &value));
  EXPECT_TRUE(table.take(memory + 16, &value));
  EXPECT_EQ(value, 1);
  EXPECT_FALSE(table.take(memory + 16, &value));
  for (int i = 0; i < 64; ++i) table.force(memory + 16 * i, i);
  EXPECT_TRUE(table.take(memory + 16 * 63, &value)) << "in the place of another";
  static PointerTable<char, 64, 8> near;
  near.insert(memory + 100, 0);
  near.insert(memory + 60, 0);
  EXPECT_EQ(near.next_after(memory, 256), memory + 60);
  EXPECT_EQ(near.next_after(memory + 60, 256), memory + 100);
  EXPECT_EQ(near.next_after(memory, 50), nullptr);
}

}  // namespace
}  // namespace filibuster::preload::grpc
