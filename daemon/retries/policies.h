// Policies of retry-aware testing (Rainmaker, NSDI 2023, figure 6), as data: each is a sequence of outcomes for the
// attempts of one call. Policies of the configuration stand beside the built-in ones.
//
//   P1-reset  reset:after when=1              as P1, for a caller that waits for longer than anybody wants to
//   P1        timeout:after when=1            the first answer does not come, the retries pass
//   P2-reset  reset:after when=1+             as P2, for such a caller
//   P2        timeout:after when=1+           no answer comes, and the server acts each time
//   P3        503 when=1+                     no attempt reaches the server
//   P4        timeout:after, 503 when=2+      the server acts once, and the caller is told of a failure
//
// A client that does not try again sees P1, P2 and P4 alike; P1, its form with a reset, and P3 are left.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "daemon/config/config.h"
#include "daemon/retries/answer_templates.h"

namespace filibuster::retries {

struct Policy {
  std::string name;              // "P1"
  FaultSpec attempts;            // FaultKind::kAttempts
  bool without_retries = false;  // it is left for a call whose client does not try again
  std::string meaning;
  // Attempts of a call that are silent, if there are `attempts` of them: each costs the caller's timeout.
  uint32_t silences(uint32_t count) const;
  // Those that end in another fault.
  uint32_t errors(uint32_t count) const;
};

// The built-in policies, then those of the configuration.
std::vector<Policy> all_policies(const RetriesConfig& config);
// "P1,P4": in the order of `all`. Error: there is no such policy, with the names that there are. Empty: all of them.
Result<std::vector<Policy>> choose_policies(const std::vector<Policy>& all, std::string_view names);

// Does no attempt reach the server that gets a fault? Such a policy says something of a call that is answered with an
// error by the server itself, too.
bool keeps_from_server(const Policy& policy);

// Those that say something of this call. `own_error`: its server answers it with an error without any fault.
std::vector<const Policy*> policies_for(const std::vector<Policy>& policies, bool retries,
                                        bool own_error = false);

// What is planned for a call that answered like that without a fault. `goes_on`: if the answer is an error, the application
// expects it (expected_errors.h). Error: the answer is an error that is not expected, or the call cannot get the faults, with
// the reason.
Result<FaultSpec> fault_for(const Policy& policy, const RpcRecord& reference, bool goes_on = false);

}  // namespace filibuster::retries
