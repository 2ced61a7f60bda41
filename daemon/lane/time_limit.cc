#include "daemon/lane/time_limit.h"

#include <algorithm>
#include <vector>

namespace filibuster {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

milliseconds more_time(const TimeLimit& limit, milliseconds taken, const ExecutionRecord& record,
                       uint64_t now_ns) {
  constexpr int kGrowth = 3;
  if (taken >= limit.while_calls_come) return milliseconds(0);
  std::vector<uint64_t> times;
  for (const RpcRecord& rpc : record.rpcs) {
    times.push_back(rpc.issued_ns);
    if (!rpc.open) times.push_back(rpc.finished_ns);
  }
  if (times.empty()) return milliseconds(0);
  std::sort(times.begin(), times.end());
  uint64_t longest = 0;
  for (size_t i = 1; i < times.size(); ++i) longest = std::max(longest, times[i] - times[i - 1]);
  const uint64_t last = times.back(), silent = now_ns > last ? now_ns - last : 0;
  const auto allowed = std::max<nanoseconds>(limit.time, kGrowth * nanoseconds(longest));
  if (nanoseconds(silent) >= allowed) return milliseconds(0);
  return std::min(std::chrono::ceil<milliseconds>(allowed - nanoseconds(silent)),
                  limit.while_calls_come - taken);
}

}  // namespace filibuster
