#include "daemon/agents/pulse.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "daemon/base/descriptors.h"

namespace filibuster {
namespace {

constexpr int kAhead = -10;      // nice value of the pulse's thread, where it is permitted
constexpr double kNewest = 0.2;  // weight of one tick in the slowdown

// Processors of the whole machine, since /proc/loadavg counts the threads of the whole machine; this
// process may be allowed to use fewer.
unsigned processors() {
  return static_cast<unsigned>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
}

// Threads of the machine that run or wait for a processor, without the calling one:
// "0.20 0.18 0.12 3/80 11206" gives 2.
unsigned runnable(int loadavg) {
  char text[128];
  const ssize_t size = loadavg < 0 ? 0 : ::pread(loadavg, text, sizeof text - 1, 0);
  if (size <= 0) return 0;
  text[size] = '\0';
  const char* at = text;
  for (int field = 0; field < 3 && at != nullptr; ++field) {
    at = std::strchr(at, ' ');
    if (at != nullptr) ++at;
  }
  const unsigned long running = at == nullptr ? 0 : std::strtoul(at, nullptr, 10);
  return running == 0 ? 0 : static_cast<unsigned>(running - 1);
}

}  // namespace

void PatientClock::tick(uint64_t now_ns, unsigned runnable) {
  const uint64_t passed = now_ns > last_ns_ ? now_ns - last_ns_ : 0;
  last_ns_ = now_ns;
  const double waiting =
      std::clamp(static_cast<double>(runnable) / static_cast<double>(processors_), 1.0, kSlowest);
  patient_ns_ += static_cast<uint64_t>(static_cast<double>(std::min(passed, kTickNs)) / waiting);
  const double late = static_cast<double>(passed) / static_cast<double>(kTickNs);
  const double slow = std::clamp(std::max(late, waiting), 1.0, kSlowest);
  slowdown_ += kNewest * (slow - slowdown_);
}

void Pulse::start(std::function<void(uint64_t)> renew) {
  renew_ = std::move(renew);
  thread_ = std::thread([this] { run(); });
}

void Pulse::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Pulse::run() {
  // This concerns the calling thread only. Without the privilege it is refused, and the pulse keeps its
  // ordinary priority.
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kAhead);
  const UniqueFd loadavg(::open("/proc/loadavg", O_RDONLY | O_CLOEXEC));
  PatientClock clock(clock_ns(), processors());
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, std::chrono::nanoseconds(PatientClock::kTickNs),
                            [this] { return stopping_; })) {
    const uint64_t now = clock_ns();
    renew_(now);
    clock.tick(now, runnable(loadavg.get()));
    patient_ns_.store(clock.now_ns(), std::memory_order_release);
    slowdown_.store(clock.slowdown(), std::memory_order_relaxed);
  }
}

}  // namespace filibuster
