#include "daemon/model/finding.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace filibuster {
std::string_view standing_name(Standing standing) {
  switch (standing) {
    case Standing::kNew:
      return "new";
    case Standing::kAccepted:
      return "accepted";
    case Standing::kExpired:
      return "expired";
  }
  return "";
}

std::string finding_id(const std::string& test, const std::vector<InjectedFault>& faults) {
  std::set<std::string> parts;
  for (const InjectedFault& fault : faults)
    parts.insert(to_hex(fault.stable.identity) + " " + fault.identity());
  Hash128 id = hash_text(test);
  for (const std::string& part : parts) id = combine(id, hash_text(part));
  std::string out = to_hex(id).substr(0, kFindingIdSize);
  // Sixteen decimal digits may be the number of a payment card, which reports leave out.
  if (out.find_first_of("abcdef") == std::string::npos) out[0] = 'a';
  return out;
}

FaultSet::FaultSet(const std::vector<InjectedFault>& faults) {
  for (const InjectedFault& fault : faults) faults_.emplace(fault.index, fault.identity());
}

bool FaultSet::contains(const FaultSet& smaller) const {
  return std::includes(faults_.begin(), faults_.end(), smaller.faults_.begin(),
                       smaller.faults_.end());
}

std::string FaultSet::key() const {
  std::string all;
  for (const auto& [index, fault] : faults_) all += to_hex(index) + ":" + fault + "\n";
  return to_hex(hash_text(all));
}

std::vector<Finding> group_failures(const std::vector<Execution>& failures) {
  std::vector<FaultSet> sets;
  for (const Execution& failure : failures) sets.emplace_back(failure.faults);
  // Smallest first: when a set is looked at, every set that it could contain has been looked at.
  std::vector<size_t> by_size(failures.size());
  for (size_t i = 0; i < by_size.size(); ++i) by_size[i] = i;
  std::stable_sort(by_size.begin(), by_size.end(), [&](size_t a, size_t b) {
    return sets[a].faults().size() < sets[b].faults().size();
  });
  // A set can only contain a minimal one whose first fault it has.
  std::vector<size_t> minimal;
  std::map<FaultSet::Key, std::vector<size_t>> by_first_fault;
  std::vector<size_t> without_faults;
  const auto each_minimal_within = [&](const FaultSet& set, const auto& act) {
    for (const size_t m : without_faults) act(m);
    for (const FaultSet::Key& key : set.faults()) {
      const auto some = by_first_fault.find(key);
      if (some == by_first_fault.end()) continue;
      for (const size_t m : some->second) {
        if (set.contains(sets[m])) act(m);
      }
    }
  };
  for (const size_t at : by_size) {
    bool covered = false;
    each_minimal_within(sets[at], [&](size_t) { covered = true; });
    if (covered) continue;
    minimal.push_back(at);
    const std::set<FaultSet::Key>& faults = sets[at].faults();
    (faults.empty() ? without_faults : by_first_fault[*faults.begin()]).push_back(at);
  }
  std::sort(minimal.begin(), minimal.end());
  std::map<size_t, std::pair<size_t, uint64_t>> groups;  // minimal -> first failure, failures
  for (size_t i = 0; i < failures.size(); ++i) {
    each_minimal_within(sets[i],
                        [&](size_t m) { ++groups.try_emplace(m, i, 0).first->second.second; });
  }
  // A finding shows the execution with exactly the minimal set, in which nothing else is injected. The
  // place of the finding in the list is that of the first failure of its group.
  std::vector<std::pair<size_t, Finding>> placed;
  for (const size_t at : minimal) {
    Finding finding;
    finding.minimal_execution = failures[at];
    finding.minimal = failures[at].faults;
    finding.id = finding_id(finding.minimal_execution.test, finding.minimal);
    finding.executions = groups.at(at).second;
    placed.emplace_back(groups.at(at).first, std::move(finding));
  }
  std::stable_sort(placed.begin(), placed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Finding> findings;
  for (auto& [place, finding] : placed) findings.push_back(std::move(finding));
  return findings;
}

}  // namespace filibuster
