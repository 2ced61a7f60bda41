// One byte of choice, then what a test runner wrote: the list of its tests, or JUnit XML. The parsers must
// survive it.
#include <array>
#include <cstdint>
#include <string>

#include "daemon/suite/results.h"
#include "daemon/suite/runner.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr std::array kRunners = {"pytest", "unittest", "jest", "mocha", "node", "gtest"};
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  const size_t choice = data[0] % (kRunners.size() + 2);
  if (choice == kRunners.size()) {
    (void)filibuster::suite::parse_results(text);
  } else if (choice > kRunners.size()) {
    (void)filibuster::suite::find_runner("junit")->parse(text, "/srv/shop");
  } else {
    (void)filibuster::suite::find_runner(kRunners[choice])->parse(text, "/srv/shop");
  }
  return 0;
}
