// How the fault 'refused' reached the callers: as a refused connect, or as a reset of a connection that
// was open already. A reset is another failure, so it does not show what a caller does about a refusal.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/model/execution_record.h"
#include "daemon/model/refusals.h"

namespace filibuster {

// A note for a client with RPCs in `never_refused`: a refused connect was not tried there.
std::string to_note(const Refusals& client);

class RefusalCounts {
 public:
  // Adds an execution that came as planned. True if it showed something new.
  bool see(const ExecutionRecord& record);
  // Ordered by caller, service and protocol.
  std::vector<Refusals> all() const;

  // The counts as text, which the store keeps so that a resumed session knows them. add_json() ignores
  // what it cannot read.
  std::string to_json() const;
  void add_json(std::string_view text);
  static constexpr size_t kMaxRpcs = 1000;  // further RPCs of a client are counted, not named

 private:
  struct Client {
    uint64_t refused = 0, reset = 0;
    std::map<std::string, bool> rpcs;  // name -> a connect was refused at least once
  };
  // caller, service, protocol
  std::map<std::vector<std::string>, Client> clients_;
};

}  // namespace filibuster
