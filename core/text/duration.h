// Durations as people write them: in the configuration, on the command line, and in the texts of faults.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace filibuster {

struct DurationText {
  uint64_t milliseconds = 0;  // rounded
  bool has_unit = false;      // without one it is a number of seconds
};

// "500ms", "1.5s", "2m", "1h", "30". nullopt: it is none, or longer than a hundred years.
inline std::optional<DurationText> parse_duration(std::string_view text) {
  struct Unit {
    std::string_view name;
    double milliseconds;
  };
  constexpr Unit kUnits[] = {{"ms", 1}, {"s", 1e3}, {"m", 6e4}, {"h", 3.6e6}, {"", 1e3}};
  constexpr double kMost = 100 * 366 * 24 * 3.6e6;
  double value = 0, place = 0;  // of the next digit behind the point; 0: there was no point
  size_t at = 0, digits = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '.' && place == 0 && digits > 0) {
      place = 0.1;
    } else if (c >= '0' && c <= '9') {
      ++digits;
      value = place == 0 ? value * 10 + (c - '0') : value + place * (c - '0');
      if (place != 0) place /= 10;
    } else {
      break;
    }
  }
  if (digits == 0 || text[at - 1] == '.') return std::nullopt;
  for (const Unit& unit : kUnits) {
    const double milliseconds = value * unit.milliseconds;
    if (text.substr(at) == unit.name && milliseconds <= kMost)
      return DurationText{static_cast<uint64_t>(milliseconds + 0.5), !unit.name.empty()};
  }
  return std::nullopt;
}

}  // namespace filibuster
