// What gcov and the helpers of `run --coverage` write comes from tools and files of the services' folders.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "daemon/coverage/report.h"

using namespace filibuster::coverage;

namespace {

void check(const Files& files) {
  for (const auto& [name, lines] : files) {
    for (const uint32_t line : lines.reached) {
      if (line == 0 || !lines.statements.contains(line)) abort();
    }
    size_t within = 0;
    for (const Range& range : ranges(lines.reached, lines.statements)) {
      for (auto at = lines.statements.lower_bound(range.first);
           at != lines.statements.end() && *at <= range.last; ++at) {
        if (!lines.reached.contains(*at)) abort();
        ++within;
      }
    }
    if (within != lines.reached.size()) abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto answer = read_answer(text); answer.ok()) check(answer.value().files);
  if (const auto answer = read_gcov(text); answer.ok()) check(answer.value().files);
  return 0;
}
