// The commands of one connection that have no reply yet, in the order of their sending, and the calls
// (RPCs) that they are: most are one each, a transaction is one from MULTI to EXEC, what a client library
// says by itself is none.
#pragma once

#include <atomic>
#include <cstdint>

#include "preload/rpc/agent.h"

namespace filibuster::preload {

struct Command {
  std::atomic<Command*> next{nullptr};
  uint64_t number = 0;  // from 1
  OpenCall call;        // active: its reply ends it
  // Its reply, unless it is an error, sets the version of the protocol to this; 0: it does not.
  uint8_t sets_protocol = 0;
  bool injected = false;  // its reply is ours
  Hash128 parent_path;    // of the call
};

// A call with a planned fault that has not fired. Before anything of it is sent, the replies to all that
// was sent before are awaited: then no other call is hit.
struct PlannedFault {
  OutgoingCall call;
  uint64_t first = 0;           // the number of its command, of a transaction's MULTI
  Command* last = nullptr;      // whose reply ends the call: there until that is answered
  uint64_t start = 0, end = 0;  // positions of its bytes in the application's stream
  uint32_t members = 0;         // commands between MULTI and EXEC; 0: it is no transaction
  PlannedFault* next = nullptr;
};

// One producer (who follows the commands), one consumer (who follows the replies); a list, since a
// pipeline may be as long as it likes.
class CommandQueue {
 public:
  CommandQueue() = default;
  CommandQueue(const CommandQueue&) = delete;

  // Producer. nullptr: there is no memory.
  Command* push();
  // Either: was everything answered that was pushed before the command of this number?
  bool is_next(uint64_t number) const {
    return answered_.load(std::memory_order_acquire) + 1 == number;
  }
  bool is_answered(uint64_t number) const {
    return answered_.load(std::memory_order_acquire) >= number;
  }
  bool empty() const {
    return answered_.load(std::memory_order_acquire) == pushed_.load(std::memory_order_acquire);
  }

  // Consumer. The oldest; nullptr: none is open.
  Command* front() const { return head_->next.load(std::memory_order_acquire); }
  void pop();
  // Both sides owned.
  void clear();

 private:
  Command before_first_;
  Command* head_ = &before_first_;  // answered, and still in the list
  Command* tail_ = &before_first_;
  std::atomic<uint64_t> pushed_{0};
  std::atomic<uint64_t> answered_{0};
};

PlannedFault* make_planned_fault();
void free_planned_fault(PlannedFault* fault);

}  // namespace filibuster::preload
