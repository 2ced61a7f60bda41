// Which incoming request caused this RPC? The open incoming requests of a process, which of them a
// thread read, and the rules that choose among them (docs/laws.md, law 3: never guessed). No globals:
// testable without a session. Lock-free, and safe in a signal handler and in a forked child.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/hash.h"
#include "core/protocol/events.h"
#include "core/protocol/lane_memory.h"

namespace filibuster::preload {

// An incoming request from its head until its response is written.
struct Incoming {
  enum State : uint32_t { kFree = 0, kClaimed = 1, kOpen = 2 };
  std::atomic<uint32_t> state{kFree};
  std::atomic<uint32_t> use{
      0};  // grows with each use of the slot: tells a reference that it is stale

  uint64_t rpc = 0;
  uint64_t generation = 0;  // session that `rpc` belongs to
  uint32_t agent = 0;  // who reports its end: a forked child has the slot too, but not the duty
  uint32_t execution = 0;
  bool multiplexed = false;  // read by an event loop: the thread proves nothing
  bool entry = false;        // the caller has no agent: the index was formed here
  bool late = false;
  bool preliminary = false;  // entry whose body is not complete
  bool counted = false;      // among the active ones of this process
  bool inherited = false;    // open when this process was forked
  Hash128 http_signature;    // of an entry
  uint32_t count = 0;        // of an entry
  std::atomic<uint32_t> next_free{
      0};  // where the slot is free: the next one, as in IncomingTable::free_
  // The path of what the request causes. That of an entry changes once, when its body is complete.
  Hash128 paths[2];
  std::atomic<uint32_t> path_version{0};  // index in `paths`
};

// What the rules need of an incoming request, copied out of its slot.
struct CauseOf {
  Cause cause = Cause::kNone;
  uint64_t rpc = 0;
  Hash128 path;
  Hash128 counted_path;  // the first value of `path`: its calls are counted under it
  uint32_t execution = 0;
  // Of kNone: it might be known, had no request been given up in this execution (IncomingTable::note_given_up).
  bool after_giving_up = false;
  // Of kNone: none of the incoming requests that were seen led here (a timer, a task that goes on when its request is over).
  bool background = false;
};

// The requests that one thread has read. Thread-local.
struct ThreadRequests {
  static constexpr uint32_t kMax = 8;
  struct Reference {
    uint16_t slot;
    uint32_t use;
  };
  Reference references[kMax];
  uint32_t size;
  bool overflowed;  // more were open at once than are remembered: the thread proves nothing until
                    // all of the remembered are closed
};

class IncomingTable {
 public:
  static constexpr uint32_t kSlots = 4096;

  // A slot in state kClaimed, fields cleared; nullptr: full.
  Incoming* claim();
  // Called when the fields are set. The request is then open, counted as active, and known as read by
  // `thread`.
  void open(Incoming* incoming, ThreadRequests* thread);
  // Gives a claimed slot back that was not opened.
  void abandon(Incoming* incoming) { give_back(incoming); }
  // Gives the slot back. Precondition: open.
  void close(Incoming* incoming);
  // To be called before close() of a request that ends without its answer while that execution runs: whoever works for it
  // may go on, and is seen nowhere any more. So which request is the only active one proves nothing until the execution ends.
  // (A forked child closes its copies of connections whose requests other threads of its parent serve. That says nothing.)
  void note_given_up(const Incoming& incoming, uint32_t session, uint32_t execution);
  bool has_given_up(uint32_t session, uint32_t execution) const;
  uint32_t slot_of(const Incoming* incoming) const {
    return static_cast<uint32_t>(incoming - slots_);
  }

  // Is the request of that id open? (Looks at every slot in use.)
  bool is_open(uint64_t rpc) const;
  // Number of active requests of this process.
  uint32_t active() const { return number_of(activity()); }
  // The active requests at one moment: their number and the sum of their slots (active_).
  uint64_t activity() const { return active_.load(std::memory_order_acquire); }
  static uint32_t number_of(uint64_t activity) { return static_cast<uint32_t>(activity >> 32); }
  // The only request that was active at that moment, copied. False: there were none or several, or others
  // are active now.
  bool only_active(uint64_t activity, CauseOf* cause) const;
  // The request that `thread` read, if it is the only one of that thread that is still open, and the thread
  // proves something (Incoming::multiplexed, ThreadRequests::overflowed).
  bool of_thread(ThreadRequests* thread, CauseOf* cause) const;

  // In a forked child: requests read by other threads of the parent are not active here; those of
  // the forking thread stay known as causes until this process reads a request of its own.
  void after_fork(ThreadRequests* thread);

 private:
  Incoming* take();
  void give_back(Incoming* incoming);
  bool copy(uint32_t slot, uint32_t use, CauseOf* cause) const;
  void drop_inherited(ThreadRequests* thread);
  void count(Incoming* incoming, bool active);

  Incoming slots_[kSlots];
  // Number of active requests << 32 | sum of their slots. When the number is 1, the sum is the slot.
  std::atomic<uint64_t> active_{0};
  // The slot that was freed last, from 1 (0: none is free below used_), and above it a number that changes with each slot
  // that is taken or given back: thousands of requests may be open, and none of them is looked at to find a free one.
  std::atomic<uint64_t> free_{0};
  std::atomic<uint32_t> used_{0};  // slots ever used
  std::atomic<bool> has_inherited_{false};
  // Session << 32 | execution, which is never 0. A process lives across executions and sessions, and a forked child has it
  // from its parent.
  std::atomic<uint64_t> given_up_in_{0};
};

struct CauseQuery {
  ThreadRequests* thread = nullptr;
  bool multiplexing = false;   // this thread is an event loop
  bool is_test = false;        // the service `test`: its own calls are entries
  bool requests_lost = false;  // an incoming request is not in the table: 'only-active' is void
  LaneMemory* lane = nullptr;  // call sites
  Hash128 site;  // what issues the RPC: its stack, else its signature; a connect's has its target
  uint32_t execution = 0;
  // An incoming request ended here without its answer, in this execution or in an earlier one: its work may go on.
  bool given_up = false;
};

// The rules after 'the request carries our header', in their order: thread, (entry), only-active,
// none.
CauseOf find_cause(const IncomingTable& table, const CauseQuery& query);

}  // namespace filibuster::preload
