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
#include "preload/stream/transport.h"
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

// One direction of a connection in a recording (tape.h); for the owner of its flow, but for whoever tells the end.
struct TapedFlow {
  uint64_t stamp = 0;  // the recording that `position` belongs to
  std::atomic<uint64_t> position{0};
};

enum class ConnectState : uint8_t { kNone, kPending, kDone };

// The first bytes of one direction, as long as they could be those of several protocols.
struct KeptBytes {
  static constexpr size_t kMost = 64;
  uint8_t size = 0;
  char bytes[kMost];
};

// How many pins a connection has. No constructor writes it, since a thread with a pointer to what was there before may look at it
// meanwhile: see pin().
union Pins {
  Pins() {}
  std::atomic<uint32_t> count;
};

struct alignas(64) Connection {
  Connection() = default;
  Connection(const Connection&) = delete;

  Pins pins;
  std::atomic<uint32_t> descriptors{0};  // numbers that name it
  ConnectionState state;
  std::atomic<bool> closing{false};  // the last descriptor is closed
  std::atomic<bool> elapsed{
      false};  // a wait on the injected silence was ended at once, as if it had elapsed
  // A client's: the last bytes that came end within an answer, and what is known of the wait for its rest
  // (waits_for_rest).
  std::atomic<bool> in_answer{false};
  std::atomic<bool> awaits{false};  // a thread has begun to wait for it
  // g_loop_waits as an event loop began to wait for it, with whatever else it waits for; 0: none has.
  std::atomic<uint32_t> loop_waits{0};
  std::atomic<bool> debt{false};  // bytes are held, or an insertion is half on the wire
  // A flush of the agent met this error, which the kernel tells once: the next receive returns it.
  std::atomic<int> deferred_error{0};
  // The hold (holds.h): how many there were, which thread made it, whether it lasts, and whether a thread
  // of the agent watches it.
  std::atomic<uint32_t> holds{0};
  std::atomic<uint32_t> holder{0};
  std::atomic<bool> holding{false};
  std::atomic<bool> watched{false};
  Role role = Role::kJoining;
  bool seen_from_start = false;  // all of its bytes
  // This process neither accepted nor connected it in the session (ready_made.h): its epoll set is not known, and the first request
  // does not open it.
  bool ready_made = false;
  // The protocol. nullptr: it is not recognised yet. An upgrade replaces it.
  std::atomic<Followed*> followed{nullptr};
  KeptBytes first[2];  // by Traffic: the bytes that were kept to recognise the protocol
  Noted noted = Noted::kNothing;
  bool waits_with_others = false;  // in a poll set with other connections
  std::atomic<int> epoll_set{-1};
  uint64_t serial = 0;      // distinguishes uses of one object
  uint64_t generation = 0;  // session it was made in
  // SO_COOKIE: tells whether the descriptor was closed by a call that no hook saw.
  uint64_t cookie = 0;
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
  // The agent ended this connection for the refusal of a plan's entry (kept.h): its number + 1; 0: it did not.
  std::atomic<uint32_t> ended_for{0};
  std::atomic<bool> ending{false};  // a thread of the agent ends the connection now
  // The descriptor of the real connection, while a socket pair with an answer of the agent's stands in its
  // place (inject/aside.h); a debt. -1: the real connection stands in its place.
  std::atomic<int> aside{-1};
  uint32_t ended_in = 0;
  // The path and the execution of the RPC that was answered last (0: none was).
  Hash128 answered_path;
  uint32_t answered_in = 0;
  uint64_t requests = 0;  // number of requests that were seen
  // The recording to which it was said what connection this is: agent << 32 | number of the recording.
  std::atomic<uint64_t> announced{0};
  TapedFlow taped[2];                  // by Traffic
  std::atomic<bool> taped_end{false};  // the peer's end is on the tape

  // What carries the bytes; nullptr: the descriptor does. Then set once.
  std::atomic<Transport*> transport{nullptr};
  // Of an encrypted connection: how many bytes the application has sent on the descriptor, and received. Known if
  // all were seen.
  uint64_t carried = 0;
  std::atomic<uint64_t> carried_in{0};
  bool carried_known = false;
  // Before the connection has a transport: its first bytes, and how far it has come (tls/carrier.cc).
  KeptBytes hello;
  uint8_t encrypted = 0;
  bool certificate_fault_set = false;  // handshake_faults.h
  uint8_t prelude =
      0;  // what comes before its ClientHello (core/tls/prelude.h), and how far that is

  Flow request_flow;
  Flow response_flow;
  // The thread that waits in the kernel until the socket takes its bytes, and owns the request flow
  // meanwhile; 0: none. (It may never come back: see enter_requests.)
  std::atomic<uint32_t> sending{0};
  Wire wire;  // a client's

  // Memory for the state of the protocol, if it fits. What it needs while something is under way is better taken
  // from a pool, because most connections are idle most of the time.
  static constexpr size_t kRoom = 3248;
  std::atomic<bool> room_taken{false};
  alignas(16) char room[kRoom];

  std::string_view peer_name() const { return {peer, peer_size}; }
  bool outgoing() const { return role != Role::kServer; }
  // Is it opened for the request that comes next?
  bool is_opened_now() const { return seen_from_start && !ready_made && requests == 0; }
  Followed* protocol() const { return followed.load(std::memory_order_acquire); }
};

// Event loops (agent.h, note_multiplexing_thread): the epoll set this thread waited on last, or -1.
extern constinit thread_local int t_waited_set __attribute__((tls_model("initial-exec")));

// The connection whose transport this thread calls to send.
extern constinit thread_local Connection* t_carrying __attribute__((tls_model("initial-exec")));

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

// The connection has one pin and no descriptor. nullptr: the table is full (reported).
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

// Counts the waits of event loops that may have lasted (epoll_wait): which connection one was for is not known.
extern std::atomic<uint32_t> g_loop_waits;

// To be called when bytes of a server have come. `within`: they end within an answer.
void note_answer(Connection& connection, bool within);
// A thread begins to wait for bytes of the server.
inline void note_wait(Connection& connection) {
  if (connection.in_answer.load(std::memory_order_relaxed))
    connection.awaits.store(true, std::memory_order_relaxed);
}
// The connection is in the set of an event loop.
void note_wait_of_loop(Connection& connection);
// Has the client waited for the rest of the answer that has begun? If event loops wait for the connection and have
// waited since, that is not known, and the answer is yes.
bool waits_for_rest(const Connection& connection);

// How a request that got no answer ended, as far as is known.
RpcFinished unanswered(const Connection& connection);
// Finds the target by the address, if it was not known yet: services start while their callers do.
void find_target_of(Connection& connection);

// Gives the connection its protocol. False: another thread gave it one first.
bool publish(Connection& connection, Followed* followed);
// The memory `room`, which is given once. nullptr: another thread has it, and has published a Followed.
void* take_room(Connection& connection);

// Stops following the connection. Reports why, once, and ends the open exchanges as soon as no thread
// uses them.
void give_up(Connection& connection, NotInterposedReason reason);
void report_given_up(const Connection& connection, NotInterposedReason reason);
// The same without a report (a target that is never interposed, a fault that fired).
void give_up_silently(Connection& connection);
// After a flow was released: does what waits for both flows to be free.
void settle(Connection& connection);

// Reports nothing if the descriptor was closed by a raw system call and its number given out anew: the
// number does not belong to the connection any more.
void give_up_unless_stale(Connection& connection, int fd, NotInterposedReason reason);
// The application gave up on an injected silence (close, shutdown, or the hang limit's reset).
void end_silence(Connection& connection);

// As the protocol has them (protocol.h), with the flows.
bool answered_elsewhere(Connection& connection, uint64_t number, uint16_t status);
void answers_elsewhere_lost(Connection& connection);

// Shows the protocol bytes that went by unchanged: requests that a server received, responses that a
// client received or a server sent. Called after the transfer, in the flow's turn.
void observe(Connection& connection, int fd, bool requests, Pieces pieces, size_t size,
             uint32_t sequence);
// `size` bytes went by unseen (sendfile, splice, MSG_TRUNC).
void observe_unseen(Connection& connection, bool requests, size_t size, uint32_t sequence);
// A receive returned 0 (then `error` is 0) or failed.
void observe_end(Connection& connection, int error);

// The kernel's number of the socket behind `fd`; 0 if it is none.
uint64_t socket_cookie(int fd);

}  // namespace filibuster::preload
