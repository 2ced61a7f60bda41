// The output of a test, as it was printed. What reads it must survive it, and say the same of the same bytes.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "daemon/report/failed_assertions.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string once = filibuster::masked(text);
  if (filibuster::masked(once) != once) std::abort();
  for (const filibuster::FailedAssertion& one : filibuster::failed_assertions(text)) {
    if (one.what.size() > size + 400) std::abort();
  }
  return 0;
}
