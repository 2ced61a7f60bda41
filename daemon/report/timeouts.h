// How injected silences ended, by client: at once (the agent saw the timed wait and let it elapse), by
// the caller's own timer, or by the hang limit.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/model/execution_record.h"
#include "daemon/model/timeouts.h"

namespace filibuster {

// "front -> back: 4 ended at once, 2 waited for (the longest 1.0 s)"
std::string to_line(const Timeouts& client);

class TimeoutCounts {
 public:
  // Adds an execution that came as planned. True if it had an injected silence.
  bool see(const ExecutionRecord& record);
  // Ordered by caller and service.
  std::vector<Timeouts> all() const;

  // The counts as text, which the store keeps so that a resumed session knows them. add_json() ignores
  // what it cannot read.
  std::string to_json() const;
  void add_json(std::string_view text);

 private:
  std::map<std::pair<std::string, std::string>, Timeouts> clients_;
};

}  // namespace filibuster
