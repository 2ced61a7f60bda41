// The output of a test, as it was printed. What reads it must survive it, and takes no more from it than is there.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "daemon/suite/failed_tests.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const filibuster::suite::FailedTest& one : filibuster::suite::own_words(text).failed) {
    if (one.name.size() > size || one.place.size() > size) std::abort();
  }
  return 0;
}
