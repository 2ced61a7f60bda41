// The relayed connections of a hub: the sockets of relay.h, non-blocking, in the hub's epoll set.
// While one end does not take what waits for it, the other is not read. Half-closes and resets pass on.
// The caller serialises the calls.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "daemon/base/descriptors.h"
#include "daemon/relay/relay.h"

namespace filibuster {

class Relays {
 public:
  // Watched descriptors carry `tag | number` as epoll data; `tag` leaves the low 56 bits free.
  Relays(int epoll_fd, uint64_t tag, RelayHost* host);
  ~Relays();
  Relays(const Relays&) = delete;
  Relays& operator=(const Relays&) = delete;

  // Takes both descriptors over: the pair's end for the client, and the real connection to the server.
  void take(const RelayState& state, std::string_view table, std::string_view half_read,
            UniqueFd held, UniqueFd real);
  // epoll reported something for `data` (with our tag).
  void ready(uint64_t data, uint64_t now_ns);
  void expire(uint64_t now_ns);
  // CLOCK_MONOTONIC; 0: none.
  uint64_t next_deadline_ns() const;
  // What is left of this execution's faults ends.
  void end_execution(uint32_t execution);
  // No new streams; each connection is closed when its last one has ended.
  void retire(uint64_t now_ns);
  size_t size() const { return connections_.size(); }

 private:
  struct Connection;
  struct End;
  enum class Next : uint8_t { kGoOn, kClose, kResetClient, kResetServer };
  using Connections = std::unordered_map<uint64_t, std::unique_ptr<Connection>>;

  void read_client(Connection* c, uint64_t now_ns);
  void read_server(Connection* c, uint64_t now_ns);
  void flush(Connection* c);
  // Sends, closes, watches: to be called after every call of the relay. Erases what is over.
  void settle(Connection* c, uint64_t now_ns);
  Next go_on(Connection* c, uint64_t now_ns);
  void close(Connection* c, Next how);
  bool watch(End* end, uint64_t data, uint32_t events);
  template <typename Act>
  void for_each(Act act);

  const int epoll_fd_;
  const uint64_t tag_;
  RelayHost* const host_;
  uint64_t next_number_ = 1;
  Connections connections_;
};

}  // namespace filibuster
