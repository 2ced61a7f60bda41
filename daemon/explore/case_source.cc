#include "daemon/explore/case_source.h"

#include <poll.h>

#include <utility>

namespace filibuster {
namespace {

bool is_woken(int fd) {
  pollfd watched{fd, POLLIN, 0};
  return fd >= 0 && poll(&watched, 1, 0) > 0;
}

}  // namespace

Result<Flow> run_cases(CaseSource* source, CaseRunner* runner, int wake_fd) {
  while (!is_woken(wake_fd)) {
    auto next = source->next();
    if (!next) return next.error();
    if (!next.value()) return Flow::kGoesOn;
    auto result = runner->execute(*next.value(), source);
    if (!result) return result.error();
    if (result->attempt.result.stopped) return Flow::kStopped;
    auto concluded = source->conclude(*next.value(), std::move(result).value());
    if (!concluded || concluded.value() == Flow::kStopped) return concluded;
  }
  return Flow::kStopped;
}

}  // namespace filibuster
