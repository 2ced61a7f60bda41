// Where a gRPC call is made and what it is made for: gRPC writes it from whichever thread polls, so
// both travel in the call's own metadata to the socket, where the library takes them out. Only on
// channels without credentials: what is encrypted cannot be taken out.
#pragma once

#include "preload/runtimes/grpc/abi.h"

namespace filibuster::preload::grpc {

// Does an execution run here? Registers if need be; at most calls without a system call.
bool runs();

void insecure_credentials_made(const Credentials* credentials);
void credentials_released(const Credentials* credentials);
void channel_made(const Channel* channel, const Credentials* credentials);
void channel_destroyed(const Channel* channel);
void call_made(const Call* call, const Channel* channel);
void call_released(const Call* call);

// The operations of one batch, with our field in the metadata that a call begins with.
class MarkedBatch {
 public:
  static constexpr size_t kMaxOps = 8;  // more is not defined (one of each kind)

  // `caller`: code of the application's gRPC, whose copy of it is meant.
  MarkedBatch(Call* call, const Op* ops, size_t count, const void* caller);
  // What is to be started in the place of `ops`.
  const Op* ops() const { return given_; }
  // The batch was started: gRPC has what it needs.
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
