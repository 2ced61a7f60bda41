#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "daemon/report/finding.h"

namespace filibuster {
namespace {

struct VerdictRow {
  std::string_view name;
  bool failure;
};
constexpr std::array<VerdictRow, 8> kVerdicts = {{
    {"passed", false},
    {"failed", true},
    {"crashed", true},
    {"test-timeout", true},
    {"plan-not-met", false},
    {"incomplete", false},
    {"not-quiescent", false},
    {"no-timeout", true},
}};

using FaultKeys = std::set<std::pair<Hash128, std::string>>;

FaultKeys keys_of(const std::vector<InjectedFault>& faults) {
  FaultKeys keys;
  for (const InjectedFault& fault : faults) keys.emplace(fault.index, fault.identity());
  return keys;
}

bool contains(const FaultKeys& larger, const FaultKeys& smaller) {
  return std::includes(larger.begin(), larger.end(), smaller.begin(), smaller.end());
}

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  const auto at = static_cast<size_t>(verdict);
  return at < kVerdicts.size() ? kVerdicts[at].name : "unknown";
}

bool is_failure(Verdict verdict) {
  const auto at = static_cast<size_t>(verdict);
  return at < kVerdicts.size() && kVerdicts[at].failure;
}

std::string finding_id(const std::string& test, const std::vector<InjectedFault>& faults) {
  std::set<std::string> parts;
  for (const InjectedFault& fault : faults)
    parts.insert(to_hex(fault.stable.identity) + " " + fault.identity());
  Hash128 id = hash_text(test);
  for (const std::string& part : parts) id = combine(id, hash_text(part));
  return to_hex(id).substr(0, kFindingIdSize);
}

std::vector<Finding> group_failures(const std::vector<Execution>& failures) {
  std::vector<FaultKeys> sets;
  for (const Execution& failure : failures) sets.push_back(keys_of(failure.faults));
  // Smallest first: when a set is looked at, every set that it could contain has been looked at.
  std::vector<size_t> by_size(failures.size());
  for (size_t i = 0; i < by_size.size(); ++i) by_size[i] = i;
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](size_t a, size_t b) { return sets[a].size() < sets[b].size(); });
  std::vector<size_t> minimal;
  for (size_t at : by_size) {
    const bool covered = std::any_of(minimal.begin(), minimal.end(),
                                     [&](size_t m) { return contains(sets[at], sets[m]); });
    if (!covered) minimal.push_back(at);
  }
  std::sort(minimal.begin(), minimal.end());
  // A finding shows the execution with exactly the minimal set, in which nothing else is injected. The
  // place of the finding in the list is that of the first failure of its group.
  std::vector<std::pair<size_t, Finding>> placed;
  for (size_t at : minimal) {
    Finding finding;
    finding.minimal_execution = failures[at];
    finding.minimal = failures[at].faults;
    finding.executions = 0;
    size_t place = at;
    finding.id = finding_id(finding.minimal_execution.test, finding.minimal);
    for (size_t i = 0; i < failures.size(); ++i) {
      if (!contains(sets[i], sets[at])) continue;
      place = std::min(place, i);
      ++finding.executions;
    }
    placed.emplace_back(place, std::move(finding));
  }
  std::stable_sort(placed.begin(), placed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Finding> findings;
  for (auto& [place, finding] : placed) findings.push_back(std::move(finding));
  return findings;
}

}  // namespace filibuster
