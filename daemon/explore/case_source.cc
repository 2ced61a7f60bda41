#include "daemon/explore/case_source.h"

#include <utility>

#include "daemon/base/descriptors.h"

namespace filibuster {

Result<Flow> run_cases(CaseSource* source, CaseRunner* runner, int wake_fd) {
  while (!is_readable(wake_fd)) {
    auto next = source->next();
    if (!next) return next.error();
    // A source has no further case either where it was stopped before it found one.
    if (!next.value()) return is_readable(wake_fd) ? Flow::kStopped : Flow::kGoesOn;
    auto result = runner->execute(*next.value(), source);
    if (!result) return result.error();
    if (result->attempt.result.stopped) return Flow::kStopped;
    auto concluded = source->conclude(*next.value(), std::move(result).value());
    if (!concluded || concluded.value() == Flow::kStopped) return concluded;
  }
  return Flow::kStopped;
}

}  // namespace filibuster
