// What the insides of the agent share: the registration of this process, its identity, the writing of
// events. The hooks do not use it: they use agent.h.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/protocol/control_page.h"
#include "core/protocol/events.h"
#include "core/protocol/lane_memory.h"
#include "core/protocol/messages.h"
#include "core/protocol/ring.h"
#include "preload/os/clock.h"
#include "preload/rpc/causality.h"
#include "preload/runtimes/task.h"

namespace filibuster::preload {

// One registration. Once published, only its atomics and retired_ns change. Threads use it only inside one
// call of agent.h, so that it may be unmapped when it was replaced long ago.
struct Attachment {
  uint64_t generation = 0;
  LaneMemory* lane = nullptr;
  RingMemory* ring = nullptr;
  TapeMemory* tape = nullptr;  // nullptr: there is no room for it in the address space
  uint32_t agent = 0;
  std::atomic<int> socket{-1};
  std::atomic<uint32_t> last_rpc{0};  // sequence part of RPC ids
  uint64_t retired_ns = 0;

  uint64_t next_rpc() {
    return uint64_t{agent} << 32 | (last_rpc.fetch_add(1, std::memory_order_relaxed) + 1);
  }
  // Made by this process under this registration? (A forked child has its parent's calls in its
  // memory, but registers under an id of its own.)
  bool issued(uint64_t rpc, uint64_t under) const {
    return rpc >> 32 == agent && under == generation;
  }
};

// Set by registration, cleared in a forked child; nullptr: not registered. Does not register.
extern std::atomic<Attachment*> g_attachment;
// Of the registration that this process has, or had last. A forked child has its parent's.
struct LaneOfSession {
  uint32_t session = 0;  // 0: none
  uint16_t lane = 0;
};
LaneOfSession last_lane();

// A recording ran in the session of the process that this one was forked from, and this one has not registered since.
bool parent_was_recorded();

// Registers if need be (agent.h attached()); nullptr: pass through.
Attachment* attach();
// Like attach(), but nullptr also if no execution runs, if this is not our process (own_process), or if the
// daemon has not renewed its lease for so long that it must be gone. `*execution` is the number of the
// execution, `*now` the time (the clock is a tenth of what an event costs, so it is read once).
Attachment* attach_executing(uint32_t* execution, uint64_t* now);

// This process is started ahead and becomes an execution later (preload/snapshot/): what its calls are made
// from is asked before it does, so executing() holds already.
extern std::atomic<bool> g_will_execute;

// Who this process is: the environment as it was at start, before the host could overwrite it.
struct Identity {
  char daemon[256];   // FILIBUSTER_DAEMON, empty if unset
  char service[104];  // FILIBUSTER_SERVICE, else the base name of the executable
  char executable[256];
  char directory[1024];    // that it was started in; empty: not known, or too long
  char application[1024];  // FILIBUSTER_APPLICATION, empty if unset
  uint32_t lane;           // FILIBUSTER_LANE
  bool is_test;            // the service `test`
  // FILIBUSTER_ATTACHED is set: this is the proxy of a process, whose program is the `executable` (runtimes/attached/door.h).
  bool is_proxy;
  // Names may lead to services of its session: FILIBUSTER_HOSTS is set, or it was started by hand.
  bool may_have_hosts;
  std::string_view service_name() const { return service; }
};
const Identity& identity();

// What is kept for each thread. initial-exec: no lazy allocation of thread-local memory in hooks.
struct ThreadState {
  ThreadRequests requests;
  uint32_t tid;
  bool multiplexing;
  bool registering;  // this thread registers: a signal handler that comes meanwhile must not
  TaskContext task;  // as a runtime's helper pushed it
};
extern constinit thread_local ThreadState t_state __attribute__((tls_model("initial-exec")));
uint32_t thread_id();

// Open incoming requests of this process; the execution in which one did not fit in; whether one
// ever ended without its answer (in which execution one did, the table knows).
extern IncomingTable g_incoming;
extern std::atomic<uint32_t> g_incoming_lost_in;
extern std::atomic<bool> g_incoming_given_up;

// --- events ----------------------------------------------------------------------------------

// A buffer from a fixed pool, because the stacks of host threads may be small (16 KiB). It is false if none
// was left.
class Scratch {
 public:
  static constexpr size_t kSize = 32 * 1024;
  enum class Patience : uint8_t {
    kNone,
    // Waits until another thread gives one back, 1 s at most: for what an index is made of.
    kBounded,
  };
  explicit Scratch(Patience patience = Patience::kNone);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  uint8_t* data() const { return data_; }
  explicit operator bool() const { return data_ != nullptr; }
  static void after_fork_in_child();

 private:
  bool take();

  uint8_t* data_;
  uint32_t slot_ = 0;
};

// When that happened which this thread reports, if it is told of it later (runtimes/attached/watched.cc); 0: now.
extern constinit thread_local uint64_t t_seen_ns __attribute__((tls_model("initial-exec")));

void write_event(Attachment* attachment, EventType type, uint32_t execution, uint64_t time_ns,
                 const uint8_t* data, size_t size);

// Encodes on the stack: events with short texts only. What does not fit counts as dropped.
template <typename Event>
void emit(Attachment* attachment, EventType type, uint32_t execution, uint64_t time_ns,
          const Event& event) {
  uint8_t buffer[1024];
  const size_t size = encode(event, buffer, sizeof buffer);
  if (size == 0) {
    attachment->ring->dropped.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  write_event(attachment, type, execution, time_ns, buffer, size);
}
// Writes RpcIssued with all its texts, or without those that do not fit. `buffer` is room that the caller
// has left for the encoded event; where it does not suffice, a Scratch is taken.
void emit_issued(Attachment* attachment, uint32_t execution, uint64_t time_ns,
                 const RpcIssued& event, std::span<uint8_t> buffer = {});

// --- what after_fork_in_child and registration tell the other files -----------------------------

void mark_own_process();         // own_process() holds in the calling process from now on
uint64_t page_of_own_process();  // that the kernel wipes in each child; 0: there is none
void reset_reports();            // a new session: everything is said again
void report_listening_sockets(Attachment* attachment);  // those open already
void connects_after_fork();
void registration_after_fork();
void control_page_after_fork();
const ControlPage* control_page();  // nullptr until note_stream_socket
// To be called once, before the program itself runs: if it is a part of a replay (FILIBUSTER_REPLAY is set), it is shown the time that its
// daemon says (os/shown_clock.h) from now on. A process that never has a stream socket is shown it, too.
void find_shown_clock();
const char*
why_clock_is_not_shown();  // though it is a part of a replay; nullptr: it is shown, or there is no replay
// How this process has come to its page. Once there is one, it is not changed any more.
struct WayToPage {
  Belonging belonging = Belonging::kStarted;
  uint64_t folder_device = 0, folder_inode = 0;
};
const WayToPage& way_to_page();
bool follows_session();                      // of this process, or of the parent of a forked child
uint32_t control_page_owner();               // the user whose page it is
void forget_agent_socket(int from, int to);  // relocate_own_descriptor moved it

}  // namespace filibuster::preload
