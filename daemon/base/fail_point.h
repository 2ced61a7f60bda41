// Named places at which a test can have this daemon killed, as by `kill -9`:
// FILIBUSTER_FAIL_AT=recorded, or recorded:3 for the third time that the place is passed. Nothing
// happens without that variable. docs/architecture.md lists the places.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace filibuster {

struct WantedFailure {
  std::string_view name;
  uint64_t time = 1;
};

inline WantedFailure wanted_failure(const char* text) {
  const std::string_view whole = text == nullptr ? "" : text;
  const size_t colon = whole.find(':');
  WantedFailure wanted{whole.substr(0, colon)};
  if (colon != std::string_view::npos)
    std::from_chars(whole.data() + colon + 1, whole.data() + whole.size(), wanted.time);
  return wanted;
}

inline void fail_point(std::string_view name) {
  static const WantedFailure wanted = wanted_failure(getenv("FILIBUSTER_FAIL_AT"));
  static std::atomic<uint64_t> passed{0};
  if (wanted.name == name && ++passed == wanted.time) ::kill(::getpid(), SIGKILL);
}

}  // namespace filibuster
