// What would mend a finding, in one sentence. It is derived from the kind of the fault, its call site, and what came after it
// in the execution; where that allows no conclusion, nothing is said. A sentence that holds under a condition
// names the condition. Pure.
#pragma once

#include <string>
#include <vector>

#include "daemon/model/execution.h"
#include "daemon/model/execution_record.h"
#include "daemon/model/mending.h"

namespace filibuster::lint {

// An exception that a service wrote into its log during the execution.
struct LoggedException {
  std::string service, type, message;
  std::string place;  // the frame that tells most: of a call site of the execution, if there is one
};

// `failure` is a failing execution, `rpcs` its RPCs, in order of issue. Empty: nothing can be said. `code` stands between backticks.
Mending what_would_mend(const Execution& failure, const std::vector<RpcRecord>& rpcs,
                        const std::vector<RpcRecord>& reference,
                        const std::vector<LoggedException>& logged);

}  // namespace filibuster::lint
