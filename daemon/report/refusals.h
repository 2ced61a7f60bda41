// How 'refused' reached the callers: as a connect that was refused, or (the connection was open
// already) as a reset of it, which is another failure: what a caller does about a refusal was not
// tried there.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/agents/execution_record.h"

namespace filibuster {

// Of one client: a service that calls, the one that it calls, and how.
struct Refusals {
  std::string caller, service;
  std::string protocol;         // "HTTP/1.1", "HTTP/2", "gRPC", "Redis"
  uint64_t refused = 0;         // injected as a refused connect
  uint64_t reset = 0;           // injected as a reset
  std::vector<std::string> never_refused;  // "front -> back GET /x": RPCs that got resets only
};

// Of a client with RPCs that were never refused: that this was not tried there.
std::string to_note(const Refusals& client);

class RefusalCounts {
 public:
  // Of an execution that came as planned. True: there is something new.
  bool see(const ExecutionRecord& record);
  // Ordered by caller, service and protocol.
  std::vector<Refusals> all() const;

  // Kept with the session, so that a resumed one knows them. What is not such a text is left out.
  std::string to_json() const;
  void add_json(std::string_view text);
  static constexpr size_t kMaxRpcs = 1000;  // RPCs beyond it are counted, not named

 private:
  struct Client {
    uint64_t refused = 0, reset = 0;
    std::map<std::string, bool> rpcs;  // was it ever a refused connect?
  };
  // caller, service, protocol
  std::map<std::vector<std::string>, Client> clients_;
};

}  // namespace filibuster
