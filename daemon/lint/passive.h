// The lints that read one execution without faults. What each takes as evidence stands in
// docs/lint.md; calls of the test itself are no findings.
#pragma once

#include "daemon/lint/record_view.h"

namespace filibuster::lint {

// The same request several times for one incoming request. Only requests that were answered count: a
// request after a failed one is a retry.
std::vector<Finding> redundant_rpcs(const RecordView& view);
// The same request from several services.
std::vector<Finding> redundant_across_services(const RecordView& view);
// kForwardedResponse, and kCallChain as well where nothing else of the answer was used.
std::vector<Finding> forwarded_responses(const RecordView& view);
// kLeastRepeats or more different requests from one call site for one incoming request.
inline constexpr size_t kLeastRepeats = 3;
std::vector<Finding> n_plus_one(const RecordView& view);
std::vector<Finding> unknown_causes(const RecordView& view);

}  // namespace filibuster::lint
