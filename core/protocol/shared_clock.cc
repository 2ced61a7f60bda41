#include "core/protocol/shared_clock.h"

namespace filibuster {
namespace {

std::string_view without_blanks(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

std::optional<int64_t> take_number(std::string_view* text) {
  *text = without_blanks(*text);
  int64_t value = 0;
  const char* end = text->data() + text->size();
  const auto [rest, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc()) return std::nullopt;
  text->remove_prefix(static_cast<size_t>(rest - text->data()));
  return value;
}

}  // namespace

std::optional<int64_t> monotonic_offset_ns(std::string_view text) {
  constexpr std::string_view kClock = "monotonic";
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() == text.size() ? line.size() : line.size() + 1);
    line = without_blanks(line);
    if (!line.starts_with(kClock)) continue;
    line.remove_prefix(kClock.size());
    const auto seconds = take_number(&line);
    const auto nanoseconds = take_number(&line);
    // What the kernel lets one set is within some hundred years.
    constexpr int64_t kMost = INT64_MAX / 1'000'000'000 - 1;
    if (!seconds || !nanoseconds || *seconds > kMost || *seconds < -kMost) return std::nullopt;
    return *seconds * 1'000'000'000 + *nanoseconds;
  }
  return std::nullopt;
}

}  // namespace filibuster
