#include "daemon/cases/time_text.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>

namespace filibuster::cases {
namespace {

using std::chrono::days;
using std::chrono::sys_days;
using std::chrono::year_month_day;

constexpr int64_t kSecond = 1'000'000, kDay = 86'400 * kSecond;
constexpr int64_t kLastTime = 253'402'300'800 * kSecond - 1;  // the end of 9999

}  // namespace

std::string time_text(int64_t microseconds) {
  microseconds = std::clamp<int64_t>(microseconds, 0, kLastTime);
  const year_month_day date{sys_days(days(microseconds / kDay))};
  const int64_t rest = microseconds % kDay, seconds = rest / kSecond;
  char out[64];
  const int size = std::snprintf(
      out, sizeof out, "%04d-%02u-%02uT%02d:%02d:%02d.%06dZ", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(seconds / 3600), static_cast<int>(seconds / 60 % 60),
      static_cast<int>(seconds % 60), static_cast<int>(rest % kSecond));
  return {out, static_cast<size_t>(size)};
}

std::optional<int64_t> parse_time_text(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00.000000Z";
  if (text.size() != kForm.size()) return std::nullopt;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kForm[i] == '0' ? !digit : text[i] != kForm[i]) return std::nullopt;
  }
  const auto number = [&](size_t at, size_t size) {
    int out = 0;
    std::from_chars(text.data() + at, text.data() + at + size, out);
    return out;
  };
  const year_month_day date{std::chrono::year(number(0, 4)),
                            std::chrono::month(static_cast<unsigned>(number(5, 2))),
                            std::chrono::day(static_cast<unsigned>(number(8, 2)))};
  const int hour = number(11, 2), minute = number(14, 2), second = number(17, 2);
  if (!date.ok() || number(0, 4) < 1970 || hour > 23 || minute > 59 || second > 59)
    return std::nullopt;
  const int64_t day = sys_days(date).time_since_epoch().count();
  return day * kDay + ((hour * 60 + minute) * 60 + second) * kSecond + number(20, 6);
}

}  // namespace filibuster::cases
