// Random events into the recorder: whatever agents write, it neither crashes nor hangs, and what it
// counts as open is what its record says is open.
//
// Input: a sequence of [type, agent, execution, size low, size high] followed by `size` bytes of event.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "core/index/execution_index.h"
#include "daemon/agents/recorder.h"

namespace {

using namespace filibuster;

PlannedRpcFault planned(uint64_t index) {
  PlannedRpcFault out;
  out.index = {index, index};
  out.fault.kind = FaultKind::kReset;
  return out;
}

void check(const Recorder& recorder, const ExecutionRecord& record) {
  if (record.quiescent != recorder.quiet()) std::abort();
  if (record.still_open.empty() != recorder.quiet()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Recorder recorder(kIndexAll);
  const EventSource sources[] = {{1, 11, "test"}, {2, 12, "users"}, {3, 13, "movies"}};
  uint32_t execution = 1;
  uint64_t now = 1;
  const std::vector<PlannedRpcFault> plan = {planned(0), planned(1)};
  recorder.begin(execution, plan, recorder.expand(plan), now);
  std::span<const uint8_t> rest(data, size);
  while (rest.size() >= 5) {
    const uint8_t type = rest[0];
    const EventSource& source = sources[rest[1] % 3];
    const uint32_t of = execution - (rest[2] & 1);
    const size_t wanted = rest[3] | size_t{rest[4]} << 8;
    const bool end = (rest[2] & 0x80) != 0;
    const bool gone = (rest[2] & 0x40) != 0;
    rest = rest.subspan(5);
    const auto payload = rest.first(std::min(wanted, rest.size()));
    rest = rest.subspan(payload.size());
    recorder.event(source, {type, of, ++now}, payload);
    if (gone) recorder.agent_ended(source, now);
    if (!end) continue;
    check(recorder, recorder.snapshot());
    recorder.end(now);
    if (!recorder.quiet()) std::abort();
    recorder.begin(++execution, plan, recorder.expand(plan), now);
  }
  check(recorder, recorder.snapshot());
  recorder.end(now);
  return 0;
}
