// One byte of fault, one of split, then what a server answers. Rendering it must survive anything; its
// steps go forward and end with its bytes.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "daemon/agents/http1_answer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace filibuster;
  static constexpr const char* kFaults[] = {
      "latency:1s",        "partial-message",   "empty-message", "corrupt-message",
      "content-length:+7", "content-length:-7", "slow-body:2s",  "slow-body"};
  if (size < 2) return 0;
  Http1Answer answer((data[0] & 0x80) != 0);
  const size_t split = 1 + data[1];
  const char* bytes = reinterpret_cast<const char*>(data) + 2;
  bool ended = false;
  for (size_t at = 0; at < size - 2 && !ended; at += split)
    ended = answer.feed(bytes + at, std::min(split, size - 2 - at));
  if (!ended) answer.end_of_stream();
  const auto out = answer.render(parse_fault(kFaults[data[0] % std::size(kFaults)]).value());
  if (out.problem.empty() != !out.bytes.empty()) std::abort();
  if (!out.problem.empty()) return 0;
  size_t end = 0;
  uint64_t wait = 0;
  for (const auto& step : out.steps) {
    if (step.end < end || step.wait_ns < wait) std::abort();
    end = step.end;
    wait = step.wait_ns;
  }
  if (end != out.bytes.size()) std::abort();
  return 0;
}
