// What is known of one stream connection: which side of it this process is, whom it leads to, what its
// protocol knows of it, and for a client what it still owes to the wire.
//
// Life: made when a descriptor is first seen (registry.h), shared by duplicates of the descriptor,
// pinned by a hook while it uses it, given back to its pool with the last pin. Memory of
// connections is type-stable.
//
// Ownership: each flow (requests, responses) is fed by one thread at a time. `Flow::acquire` never
// waits: two threads that move bytes of one flow at once leave the order unknown, and what is not
// known is not guessed (law 2): the connection is given up, that is passed through and reported.
#pragma once

#include <sys/socket.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/pieces.h"
#include "preload/rpc/agent.h"
#include "preload/stream/connection_state.h"
#include "preload/stream/protocol.h"
#include "preload/stream/wire.h"

namespace filibuster::preload {

enum class Role : uint8_t {
  kJoining,  // seen in the middle: its next first bytes of a request tell
  kClient,   // connected: sends requests
  kServer,   // accepted: receives requests
};

class Flow {
 public:
  // False: another thread is inside.
  bool acquire() { return !owned_.exchange(true, std::memory_order_acquire); }
  void release() { owned_.store(false, std::memory_order_release); }
  // To be read before a transfer and given to take_turn after it, by the owner: false if another
  // thread's bytes came between.
  uint32_t sequence() const { return sequence_.load(std::memory_order_relaxed); }
  bool take_turn(uint32_t before) {
    if (sequence_.load(std::memory_order_relaxed) != before) return false;
    sequence_.store(before + 1, std::memory_order_relaxed);
    return true;
  }

 private:
  std::atomic<bool> owned_{false};
  std::atomic<uint32_t> sequence_{0};
};

enum class ConnectState : uint8_t { kNone, kPending, kDone };

// The first bytes of one direction, as long as they could be those of several protocols.
struct KeptBytes {
  static constexpr size_t kMost = 64;
  uint8_t size = 0;
  char bytes[kMost];
};

struct alignas(64) Connection {
  Connection() = default;
  Connection(const Connection&) = delete;

  // First, and never constructed anew while anyone may look: see pin().
  std::atomic<uint32_t> pins{0};
  std::atomic<uint32_t> descriptors{0};  // numbers that name it
  ConnectionState state;
  std::atomic<bool> closing{false};  // the last descriptor is gone
  std::atomic<bool> elapsed{false};  // a wait on its silence was taken for over
  std::atomic<bool> debt{false};     // bytes are held, or an insertion is half on the wire
  std::atomic<int> deferred_error{
      0};  // a flush of ours took the socket's error: the next receive tells
  // What is held (holds.h): how often, by which thread, still, and is it looked after?
  std::atomic<uint32_t> holds{0};
  std::atomic<uint32_t> holder{0};
  std::atomic<bool> holding{false};
  std::atomic<bool> watched{false};
  Role role = Role::kJoining;
  bool seen_from_start = false;
  // nullptr: not recognised yet. One may give way to another (an upgrade).
  std::atomic<Followed*> followed{nullptr};
  KeptBytes first[2];  // by Traffic: what was kept to recognise it
  Noted noted = Noted::kNothing;
  bool waits_with_others = false;  // in a poll set with other connections
  std::atomic<int> epoll_set{-1};
  uint64_t serial = 0;      // distinguishes uses of one object
  uint64_t generation = 0;  // session it was made in
  uint64_t cookie = 0;      // SO_COOKIE: the descriptor may have been closed behind our back
  uint32_t fork_epoch = 0;

  // The peer's address; of an accepted connection, the one it came to.
  sockaddr_storage address;
  socklen_t address_size = 0;
  TargetInfo target;
  char peer[160];
  uint8_t peer_size = 0;
  ConnectDecision connect;
  std::atomic<ConnectState> connect_state{ConnectState::kNone};
  int last_error = 0;  // of a receive or send: ECONNRESET, EPIPE, ...
  bool end_of_stream = false;
  // kept.h: ended by us for the refusal of this entry of the plan (+ 1; 0: not) of an execution.
  std::atomic<uint32_t> ended_for{0};
  std::atomic<bool> ending{false};  // a thread of ours is at it
  // Its real connection, while its descriptor is an end of a pair that holds an answer of ours which the
  // application has not read (inject/aside.h); a debt. -1: it has its place.
  std::atomic<int> aside{-1};
  uint32_t ended_in = 0;
  // An RPC of this path was answered just now, in this execution (0: none was).
  Hash128 answered_path;
  uint32_t answered_in = 0;
  uint64_t requests = 0;  // that were seen

  Flow request_flow;
  Flow response_flow;
  // The thread that waits in the kernel until the socket takes its bytes, and owns the request flow
  // meanwhile; 0: none. (It may never come back: see enter_requests.)
  std::atomic<uint32_t> sending{0};
  Wire wire;  // a client's

  // Where its protocol's state lives, if it fits.
  static constexpr size_t kRoom = 9 * 1024;
  std::atomic<bool> room_taken{false};
  alignas(16) char room[kRoom];

  std::string_view peer_name() const { return {peer, peer_size}; }
  bool outgoing() const { return role != Role::kServer; }
  Followed* protocol() const { return followed.load(std::memory_order_acquire); }
};

// Event loops (agent.h, note_multiplexing_thread): the epoll set this thread waited on last, or -1.
extern constinit thread_local int t_waited_set __attribute__((tls_model("initial-exec")));

// Connections with a debt: while there is one, hooks look closer even without a session.
extern std::atomic<uint32_t> g_debts;
// A fault fired in this process, or a connect was redirected.
extern std::atomic<bool> g_faults_fired;
// Counts forks; a connection of another epoch was copied from the parent.
extern std::atomic<uint32_t> g_fork_epoch;

// The first thing every hook asks (law 5): one or two relaxed loads.
inline bool nothing_to_do() {
  return !session_present() && __builtin_expect(g_debts.load(std::memory_order_relaxed) == 0, 1);
}

// One pin, no descriptor. nullptr: the table is full (reported).
Connection* make_connection();
// False: it is being freed.
bool pin(Connection* connection);
void unpin(Connection* connection);

class Pinned {
 public:
  Pinned() = default;
  explicit Pinned(Connection* connection) : connection_(connection) {}
  Pinned(Pinned&& other) noexcept : connection_(other.connection_) { other.connection_ = nullptr; }
  Pinned& operator=(Pinned&& other) noexcept {
    if (this != &other) {
      drop();
      connection_ = other.connection_;
      other.connection_ = nullptr;
    }
    return *this;
  }
  ~Pinned() { drop(); }
  explicit operator bool() const { return connection_ != nullptr; }
  Connection* operator->() const { return connection_; }
  Connection& operator*() const { return *connection_; }
  void drop() {
    if (connection_ != nullptr) unpin(connection_);
    connection_ = nullptr;
  }

 private:
  Connection* connection_ = nullptr;
};

// How a request that got no answer ended, as far as is known.
RpcFinished unanswered(const Connection& connection);
// By its address, if it was not known yet (services start while their callers do).
void find_target_of(Connection& connection);

// The first one that is published is the connection's; false: another one was.
bool publish(Connection& connection, Followed* followed);
// The room for its state, once. nullptr: another thread has it, and its Followed is there.
void* take_room(Connection& connection);

// Stops following it: reports why (once), ends its open exchanges as soon as no thread is inside.
void give_up(Connection& connection, NotInterposedReason reason);
void report_given_up(const Connection& connection, NotInterposedReason reason);
// The same without a report (a target that is never interposed, a fault that fired).
void give_up_silently(Connection& connection);
// After a flow was released: does what waits for both flows to be free.
void settle(Connection& connection);

// A number that was closed by a raw system call and given out anew is not our connection's any more: that
// is no news.
void give_up_unless_stale(Connection& connection, int fd, NotInterposedReason reason);
// The application gave up on an injected silence (close, shutdown, or the hang limit's reset).
void end_silence(Connection& connection);

// Bytes that went by unchanged, after the transfer, in the flow's turn: requests received by a
// server, responses received by a client or sent by a server.
void observe(Connection& connection, int fd, bool requests, Pieces pieces,
             size_t size, uint32_t sequence);
// `size` bytes of it went by unseen (sendfile, splice, MSG_TRUNC).
void observe_unseen(Connection& connection, bool requests, size_t size, uint32_t sequence);
// A receive gave 0 (error 0) or failed.
void observe_end(Connection& connection, int error);

// The kernel's number of the socket behind `fd`; 0 if it is none.
uint64_t socket_cookie(int fd);

}  // namespace filibuster::preload
