// Ports by name: fixed ones are kept. Automatic ones (0 in the configuration) become free ports below
// the ephemeral range, so that no client's own connection takes one before the service does. Each lane
// has a map of its own, so that replicas can run side by side. An automatic port that the lane had
// before is taken again if it is free: requests and answers may carry it (a callback URL), and
// execution indexes depend on these.
//
//   PortClaims claims;
//   auto ports = allocate_ports(config, former, &claims);   // .numbers: {"users": 21034, ...}
//   substitute_ports("--port ${port:users}", ports.numbers);  // "--port 21034"
//   port_environment(ports.numbers);                          // {"PORT_USERS=21034", ...}
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "daemon/config/config.h"

namespace filibuster {

using PortMap = std::map<std::string, uint16_t>;

// Automatic ports that no other session of this machine takes while this object lives, although
// nothing listens on them yet. Each claim is a Unix socket with a name in Linux's abstract namespace:
// it ends with its process, and is seen in one network namespace, like a TCP port.
class PortClaims {
 public:
  PortClaims() = default;
  PortClaims(const PortClaims&) = delete;
  PortClaims& operator=(const PortClaims&) = delete;
  ~PortClaims() { release(); }
  bool claim(uint16_t port);  // false: another session has it
  void release();

 private:
  std::map<uint16_t, int> sockets_;
};

struct MovedPort {
  std::string name;
  uint16_t former = 0, now = 0;
};

struct Ports {
  PortMap numbers;               // all ports
  PortMap automatic;             // the ports among them that are not fixed
  std::vector<MovedPort> moved;  // automatic ports that are not the former ones
};

// `former`: automatic ports of an earlier session; names that no service has are ignored.
// Error: no free port was found, or one name stands for two different fixed ports.
Result<Ports> allocate_ports(const Config& config, const PortMap& former, PortClaims* claims);

// Replaces every ${port:NAME}. Error: NAME is not a port of any service (names that exist are
// listed), or a `${port:` that is never closed. Other `${...}` are left to the program.
Result<std::string> substitute_ports(std::string_view text, const PortMap& ports);

// "users-db" -> "PORT_USERS_DB"
std::string port_variable(std::string_view name);
// "PORT_<NAME>=<number>" for all.
std::vector<std::string> port_environment(const PortMap& ports);

// True when something listens on (or is bound to) `port` on loopback or a wildcard address; with a
// host, at one of its addresses.
bool port_is_taken(uint16_t port, const std::string& host = "");

struct PortHolder {
  pid_t pid = 0;        // 0: not visible to this user
  std::string program;  // "python3 users.py", cut at 120 characters
};
// Who listens on `port`, as far as /proc shows it to this user; nullopt: nobody does.
std::optional<PortHolder> port_holder(uint16_t port);

}  // namespace filibuster
