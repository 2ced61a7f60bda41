// Where a gRPC call is made and what it is made for. gRPC writes a call from whichever thread polls, so
// both travel in the call's own metadata to the socket, where the library takes them out. This is done
// only on channels whose bytes it is sure to see (credentials.h).
#pragma once

#include "preload/runtimes/grpc/abi.h"

namespace filibuster::preload::grpc {

// Does an execution run here? Registers the process if need be. Mostly it makes no system call.
bool runs();

void channel_made(const Channel* channel, const Credentials* credentials);
void channel_destroyed(const Channel* channel);
void call_made(const Call* call, const Channel* channel);
void call_released(const Call* call);

// The operations of one batch, with our field in the metadata that a call begins with.
class MarkedBatch {
 public:
  static constexpr size_t kMaxOps = 8;  // gRPC allows one operation of each kind

  // `caller`: an address in the code that called gRPC, which tells whose copy of gRPC is meant.
  MarkedBatch(Call* call, const Op* ops, size_t count, const void* caller);
  // The operations to start in the place of those that were given.
  const Op* ops() const { return given_; }
  // Called when the batch was started, and gRPC has copied what it needs.
  void release();

 private:
  bool mark(Call* call, Op* op);

  const Op* given_;
  const void* caller_;
  Op copy_[kMaxOps];
  Slice value_;
  bool holds_value_ = false;
};

}  // namespace filibuster::preload::grpc
