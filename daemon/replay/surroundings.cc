// What of the surroundings of a service has an effect: the time of day, and the name of the machine.
#include <algorithm>
#include <map>
#include <utility>

#include "daemon/cases/route.h"
#include "daemon/replay/admission.h"

namespace filibuster::replay {
namespace {

struct OtherTime {
  std::chrono::seconds by;
  const char* words;
};

// An hour, a day of another kind (weekend or not), and more than a year.
std::vector<OtherTime> other_times(int64_t base_us) {
  using std::chrono::days;
  const auto day = std::chrono::floor<days>(
      std::chrono::sys_time<std::chrono::microseconds>(std::chrono::microseconds(base_us)));
  const auto is_weekend = [&](days later) {
    const unsigned weekday = std::chrono::weekday(day + later).c_encoding();
    return weekday == 0 || weekday == 6;
  };
  days other{1};
  while (is_weekend(other) == is_weekend(days(0))) ++other;
  return {{std::chrono::hours(1), "an hour later"},
          {other, is_weekend(other) ? "on a weekend" : "on a weekday"},
          {days(400), "400 days later"}};
}

// Longer than most, and of other letters.
constexpr const char* kOtherHost = "another-machine-of-the-replay-0123456789.example";

}  // namespace

// Does the time of day have an effect? All of it is moved at once: which clock a case reads is not known.
Result<void> Admission::find_times() {
  if (out_.stopped || set_.cases.empty()) return {};
  cases::TimeEvidence evidence;
  evidence.cases = set_.cases.size();
  std::map<std::string, std::string> matters;  // file: in words
  bool is_shown = true;
  for (const auto& [by, words] : other_times(set_.cases.front().base_us)) {
    is_shown = stage_.show_later(by) && is_shown;
    auto seen = pass();
    if (!seen) return seen.error();
    out_.stopped = seen->stopped;
    if (out_.stopped) return {};
    evidence.replays += seen->verdicts.size();
    for (size_t i = 0; i < seen->verdicts.size(); ++i) {
      const cases::Case& of = set_.cases[i];
      if (seen->verdicts[i].judged != cases::Judged::kDiffers) continue;
      matters.try_emplace(of.file, cases::route_of(of.request.method, of.request.target) + ", " +
                                       words + ": " + sentence_of(seen->verdicts[i]));
    }
  }
  is_shown = stage_.show_later(std::chrono::seconds(0)) && is_shown;
  // What differs at its own time, too, differs by chance.
  if (!matters.empty()) {
    if (auto counted = count(); !counted) return counted;
    if (out_.stopped) return {};
    refuse_what_lacks_others();
  }
  for (const cases::Case& each : set_.cases) {
    const auto found = matters.find(each.file);
    if (found == matters.end()) continue;
    evidence.matters.push_back(cases::name_in_path(each.file));
    out_.of_time.push_back(found->second);
  }
  if (is_shown) set_.set.time = std::move(evidence);
  return {};
}

// Does the name of the machine have an effect? If not, no file has it.
Result<void> Admission::find_host() {
  if (out_.stopped || set_.cases.empty() || !set_.set.host) return {};
  cases::HostEvidence& host = *set_.set.host;
  stage_.show_host(kOtherHost);
  auto seen = pass();
  if (!seen) return seen.error();
  out_.stopped = seen->stopped;
  if (out_.stopped) return {};
  stage_.show_host(host.name);
  std::map<std::string, std::string> differs;  // file: in words
  for (size_t i = 0; i < seen->verdicts.size(); ++i) {
    if (seen->verdicts[i].judged != cases::Judged::kDiffers) continue;
    const cases::Case& of = set_.cases[i];
    differs[of.file] = cases::route_of(of.request.method, of.request.target) + ": " +
                       sentence_of(seen->verdicts[i]);
  }
  host.cases = host.replays = seen->verdicts.size();
  // What differs under its own name, too, differs by chance.
  if (!differs.empty()) {
    if (auto counted = count(); !counted) return counted;
    if (out_.stopped) return {};
    refuse_what_lacks_others();
  }
  for (const cases::Case& each : set_.cases) {
    const auto found = differs.find(each.file);
    if (found == differs.end()) continue;
    host.matters.push_back(cases::name_in_path(each.file));
    if (std::find(out_.of_host.begin(), out_.of_host.end(), found->second) == out_.of_host.end())
      out_.of_host.push_back(found->second);
  }
  if (host.matters.empty()) host.name.clear();
  return {};
}

}  // namespace filibuster::replay
