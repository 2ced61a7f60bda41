// Inbound connections that are only watched: they lead past the proxy, and events bring their bytes, which the agent is shown.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>

#include "daemon/base/descriptors.h"
#include "daemon/proxy/door.h"
#include "daemon/proxy/events.h"

namespace filibuster::proxy {

class WatchedConnections {
 public:
  explicit WatchedConnections(Door door) : door_(door) {}

  // An event of FB_REQUESTS or FB_ANSWERS. Returns the number of its connection, which no pair of the proxy has.
  uint64_t take(const Event& event);
  // FB_CLOSED. Returns the number, or 0: the connection was not known.
  uint64_t close(const Event& event);
  // So many events are missing: what is open on the connections ends without a status, and they are joined anew.
  void lost(uint32_t count);
  // What stands for the connection of that number at the door; -1: there is none.
  int descriptor(uint64_t number) const;

 private:
  struct Connection {
    uint64_t number = 0;
    UniqueFd place;
    // By Direction: the position of the next byte, if one is known.
    struct Direction {
      bool known = false;
      uint32_t next = 0;
    } requests, answers;
  };
  using Ends = std::pair<Address, Address>;  // local, remote
  struct EndsHash {
    size_t operator()(const Ends& ends) const {
      return AddressHash()(ends.first) * 31 + AddressHash()(ends.second);
    }
  };
  Connection* find(const Event& event);
  void show(Connection* connection, const Event& event);

  Door door_;
  std::unordered_map<Ends, Connection, EndsHash> connections_;
  std::unordered_map<uint64_t, int> descriptors_;  // by number
  uint64_t last_number_ = 1ull << 48;
};

}  // namespace filibuster::proxy
