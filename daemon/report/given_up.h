// Calls whose cause is not known because a client had given up its request before them. The handler may go on, and
// where only the number of open requests tells the cause of a call (Cause::kOnlyActive), its calls look like those of
// the request that happens to be open.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/model/execution_record.h"

namespace filibuster {

class GivenUpCounts {
 public:
  // Adds an execution that came as planned. True if it had such calls.
  bool see(const ExecutionRecord& record);
  // A note for each service that made some.
  std::vector<std::string> notes() const;

  // The counts as text, which the store keeps so that a resumed session knows them. add_json() ignores what it cannot
  // read.
  std::string to_json() const;
  void add_json(std::string_view text);

 private:
  struct Count {
    uint64_t calls = 0, executions = 0;
  };
  std::map<std::string, Count> services_;
};

}  // namespace filibuster
