// How injected silences ended, by client: at once (the wait was seen in the process, and was taken for
// over), by the caller's own timer, or by the hang limit.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/agents/execution_record.h"

namespace filibuster {

struct Timeouts {
  std::string caller, service;
  uint64_t elapsed = 0;     // at once
  uint64_t waited = 0;      // really waited for
  uint64_t hang_limit = 0;  // of `waited`: until we ended them
  double longest = 0;       // seconds, of those that were waited for
};
// "front -> back: 4 over at once, 2 waited for (at most 1.0 s)"
std::string to_line(const Timeouts& client);

class TimeoutCounts {
 public:
  // Of an execution that came as planned. True: there is something new.
  bool see(const ExecutionRecord& record);
  // Ordered by caller and service.
  std::vector<Timeouts> all() const;

  // Kept with the session, so that a resumed one knows them. What is not such a text is left out.
  std::string to_json() const;
  void add_json(std::string_view text);

 private:
  std::map<std::pair<std::string, std::string>, Timeouts> clients_;
};

}  // namespace filibuster
