// The proxy of one attached service: a plain forwarder of TCP. What the bytes mean, the agent that is preloaded
// into this process reads from its own calls of libc; what happens to a connection there (a reset, an end of
// stream, a silence, an answer that nobody sent), the proxy passes on as it is.
//
// One thread does everything, in the order of what it knows: first the answers of the attached process, which end
// requests, then what it sends, which is caused by open ones.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/result.h"
#include "daemon/proxy/observer.h"
#include "daemon/proxy/pair.h"
#include "daemon/proxy/peer_sockets.h"

struct epoll_event;

namespace filibuster::proxy {

// Where connections lead. `nullopt`: nobody knows, and the connection is reset.
struct Routes {
  // Of an accepted outbound connection, by its client's address.
  std::function<std::optional<Address>(const Address& client)> outbound;
  // Of an accepted inbound connection, by the address that it came to.
  std::function<std::optional<Address>(const Address& asked)> inbound;
  // Connections from this port reach the attached process itself, and no longer. False: errno is set.
  std::function<bool(uint16_t port)> bypass;
  std::function<void(uint16_t port)> end_bypass;
};

class Proxy {
 public:
  Proxy(Door door, std::unique_ptr<EventSource> events, Routes routes);
  ~Proxy();
  Proxy(const Proxy&) = delete;

  // The listeners are non-blocking.
  Result<void> listen(UniqueFd listener, PairKind kind);
  // Calls `ready` when the descriptor is readable. It stays the caller's.
  Result<void> watch(int fd, std::function<void()> ready);
  // The same, once: a pidfd stays readable.
  Result<void> watch_once(int fd, std::function<void()> ready);

  void unwatch(int fd);

  // Looks for events from time to time: nobody wakes us for what leads past the proxy.
  void watch_only() { looks_ = true; }
  // Outbound connections of HTTP/1 end behind their first answer, which says so. Otherwise a client that repeats
  // what was reset on a kept connection would do so in the executions that find one, and not in the others.
  void keep_no_connections() { keeps_ = false; }

  // Forwards until the proxy has left, or was ended.
  void run();
  // Kept connections end politely from now on; run() returns when there is none left.
  void leave();
  bool leaving() const { return leaving_; }
  // To be called when no new connection is led here any more. Those that are on their way are accepted, and the
  // listeners close soon.
  void close_listeners();
  // Resets every connection; run() returns.
  void reset_all();

 private:
  enum class Tag : uint64_t { kEvents = 1, kListener, kWatch, kClient, kServer };
  struct Listener {
    UniqueFd fd;
    PairKind kind;
    bool paused = false;
  };

  // proxy.cc
  Result<void> watch_for(int fd, uint32_t events, std::function<void()> ready);
  int wait(std::span<epoll_event> events, bool busy);
  void handle(const epoll_event& event, bool answers);
  // At most so many, so that connections have their turn. Returns whether there may be more.
  bool accept_some(Listener& listener, int most);
  void start_outbound(Pair& pair);
  void start_inbound(Pair& pair);
  int timeout_ms() const;
  void after_events();
  void pause_listeners(bool pause);
  void sweep();

  // forwarding.cc
  void connect_on(Pair& pair, Side& server);
  void connected(Pair& pair);
  void refuse(Pair& pair);
  void readable(Pair& pair, Side& from);
  void writable(Pair& pair, Side& to);
  void failed(Pair& pair, Side& side);
  void forward(Pair& pair, Side& to, std::string_view bytes);
  void send_run(Pair& pair, Side& to, std::string_view bytes, const SentOrigin& origin);
  bool flush(Pair& pair, Side& to);
  void end_of_stream(Pair& pair, Side& from);
  void check_end(Pair& pair);
  void drain_then_reset(Pair& pair, Side& broken);
  void reset(Pair& pair);
  void close(Pair& pair);
  void update(Pair& pair, Side& side);
  void note_end_of_server(Pair& pair);
  void watch_client(Pair& pair);
  void say_farewell(Pair& pair);
  void end(Pair& pair);

  Observer observer_;
  Door door_;
  Routes routes_;
  PeerSockets peers_;
  UniqueFd epoll_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::vector<std::function<void()>> watched_;
  std::unordered_map<uint64_t, std::unique_ptr<Pair>> pairs_;
  std::vector<std::unique_ptr<Pair>> closed_;  // events of them may be at hand
  struct Deadline {
    uint64_t at_ns;
    uint64_t pair;
  };
  std::deque<Deadline> waiting_;       // outbound pairs whose client says nothing yet
  std::deque<Deadline> refused_;       // pairs that were refused before their client said anything
  std::vector<uint64_t> half_closed_;  // pairs whose client has ended its stream, and may be gone
  uint64_t next_check_ns_ = 0;         // of them, and of idle connections
  uint64_t last_id_ = 0;
  std::vector<char> buffer_, settling_buffer_;
  std::string edited_;
  bool settling_ =
      false;  // inside readable() of an inbound connection, for the cause of an outbound one
  bool leaving_ = false;
  bool keeps_ = true;             // keep_no_connections()
  bool looks_ = false;            // watch_only()
  uint32_t quiet_looks_ = 0;      // in a row
  uint64_t listen_until_ns_ = 0;  // 0: for ever
  bool stopped_ = false;
};

}  // namespace filibuster::proxy
