// The commands of one connection that have no reply yet, in the order of their sending, and the calls
// (RPCs) that they make. Most commands are one call each. A transaction is one call from MULTI to EXEC. What a
// client library says by itself is no call.
#pragma once

#include <atomic>
#include <cstdint>

#include "preload/rpc/agent.h"

namespace filibuster::preload {

struct Command {
  std::atomic<Command*> next{nullptr};
  uint64_t number = 0;  // from 1
  OpenCall call;        // active: its reply ends it
  // A reply that is no error sets the version of the protocol to this. 0: it sets none.
  uint8_t sets_protocol = 0;
  bool injected = false;  // its reply is ours
  bool delayed = false;   // its reply is the server's, and comes later for a fault
  Hash128 parent_path;    // of the call
};

// A call with a planned fault that has not fired. Before a byte of the call is sent, the replies to all
// earlier commands are awaited, so that the fault hits no other call.
struct PlannedFault {
  OutgoingCall call;
  uint64_t first = 0;           // number of its command; for a transaction, of MULTI
  Command* last = nullptr;      // the command whose reply ends the call; valid until it is answered
  uint64_t start = 0, end = 0;  // positions of its bytes in the application's stream
  uint32_t members = 0;         // commands between MULTI and EXEC; 0: it is no transaction
  PlannedFault* next = nullptr;
};

// One producer (who follows the commands) and one consumer (who follows the replies). It is a list, because the
// length of a pipeline has no bound.
class CommandQueue {
 public:
  CommandQueue() = default;
  CommandQueue(const CommandQueue&) = delete;

  // Called by the producer. nullptr: there is no memory.
  Command* push();
  // Called by either side. True if everything that was pushed before the command of this number is answered.
  bool is_next(uint64_t number) const {
    return answered_.load(std::memory_order_acquire) + 1 == number;
  }
  bool is_answered(uint64_t number) const {
    return answered_.load(std::memory_order_acquire) >= number;
  }
  uint64_t pushed() const { return pushed_.load(std::memory_order_acquire); }
  bool empty() const {
    return answered_.load(std::memory_order_acquire) == pushed_.load(std::memory_order_acquire);
  }

  // Called by the consumer. The oldest command; nullptr: none is open.
  Command* front() const { return head_->next.load(std::memory_order_acquire); }
  void pop();
  // The caller owns both sides.
  void clear();

 private:
  Command before_first_;
  Command* head_ = &before_first_;  // the command that was answered last
  Command* tail_ = &before_first_;
  std::atomic<uint64_t> pushed_{0};
  std::atomic<uint64_t> answered_{0};
};

PlannedFault* make_planned_fault();
void free_planned_fault(PlannedFault* fault);

}  // namespace filibuster::preload
