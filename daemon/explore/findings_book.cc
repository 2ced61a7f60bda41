#include "daemon/explore/findings_book.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/base/fail_point.h"
#include "daemon/report/causes.h"
#include "daemon/report/finding_text.h"

namespace filibuster {

FindingsBook::FindingsBook(const SessionContext* session, const Lane* lane, const TestConfig* test)
    : session_(*session),
      lane_(*lane),
      test_(*test),
      files_(lane->place().root + "/counterexamples", test->name,
             &session->counters.counterexamples) {}

Result<bool> FindingsBook::recall(Execution failure) {
  const std::string key = failing_.emplace_back(failure.faults).key();
  auto known = store_->finding(key);
  if (!known) return known.error();
  const bool is_finding = known.value().has_value();
  if (is_finding) {
    causes_.try_emplace(cause_key(failure), known.value()->number);
    findings_[key] = std::move(*known.value());
  }
  add(std::move(failure));
  return is_finding;
}

const Execution* FindingsBook::failure(search::AbstractId id) const {
  const auto found = failures_.find(id);
  return found == failures_.end() ? nullptr : &found->second;
}

std::optional<Execution> FindingsBook::take(search::AbstractId id) {
  const auto found = failures_.find(id);
  if (found == failures_.end()) return std::nullopt;
  std::optional<Execution> out = std::move(found->second);
  failures_.erase(found);
  return out;
}

void FindingsBook::forget_all() {
  for (const auto& [id, execution] : failures_) forget(execution.faults);
  failures_.clear();
  failing_.clear();
  causes_.clear();
}

void FindingsBook::forget(const std::vector<InjectedFault>& faults) {
  forget(FaultSet(faults).key());
}

void FindingsBook::forget(const std::string& key) {
  const auto known = findings_.find(key);
  if (known == findings_.end()) return;
  files_.remove({known->second.number, known->second.counterexample});
  std::erase_if(causes_, [&](const auto& cause) { return cause.second == known->second.number; });
  findings_.erase(known);
}

void FindingsBook::clear() {
  failures_.clear();
  findings_.clear();
  failing_.clear();
  causes_.clear();
}

bool FindingsBook::belongs_to_earlier(const std::vector<InjectedFault>& faults) const {
  const FaultSet set(faults);
  return std::any_of(failing_.begin(), failing_.end(),
                     [&](const FaultSet& earlier) { return set.contains(earlier); });
}

// Attempts that failed together (early_attempts.h) may have been more than it takes.
std::map<std::string, uint32_t> FindingsBook::larger_than(
    const std::vector<InjectedFault>& faults) const {
  const FaultSet set(faults);
  std::map<std::string, uint32_t> out;
  for (const FaultSet& known : failing_) {
    const auto finding = findings_.find(known.key());
    if (finding != findings_.end() && known.faults().size() > set.faults().size() &&
        known.contains(set))
      out.emplace(finding->first, finding->second.number);
  }
  return out;
}

bool FindingsBook::is_accepted(const Execution& failure) const {
  const std::string id = finding_id(failure.test, failure.faults);
  return std::any_of(
      session_.baseline.accepted.begin(), session_.baseline.accepted.end(),
      [&](const Acceptance& row) { return row.finding == id && session_.day <= row.until; });
}

bool FindingsBook::has_new_failure() const {
  if (session_.baseline.accepted.empty()) return !failures_.empty();
  std::vector<FaultSet> accepted;
  for (const auto& [id, failure] : failures_) {
    if (is_accepted(failure)) accepted.emplace_back(failure.faults);
  }
  return std::any_of(failures_.begin(), failures_.end(), [&](const auto& entry) {
    const FaultSet set(entry.second.faults);
    return std::none_of(accepted.begin(), accepted.end(),
                        [&](const FaultSet& smaller) { return set.contains(smaller); });
  });
}

Counterexample FindingsBook::counterexample(const Execution& failure,
                                            const Circumstances& circumstances) const {
  Counterexample out;
  out.test = failure.test;
  out.config_path = session_.config.path;
  out.config_text = session_.config_text;
  out.directory = session_.config.directory;
  out.index_parts = session_.config.index_parts;
  out.nondeterminism = circumstances.masks;
  out.descriptors = session_.descriptors->learnt();
  out.ports = lane_.place().automatic_ports;
  out.hang_limit_ms = static_cast<uint32_t>(circumstances.hang_limit.count());
  out.faults = failure.faults;
  out.verdict = std::string(verdict_name(failure.verdict));
  out.detail = failure.detail;
  out.output = failure.output;
  out.seen = failure.seen;
  return out;
}

Result<void> FindingsBook::tell(const Execution& failure,
                                const std::function<Result<std::optional<bool>>()>& replay,
                                const Circumstances& circumstances) {
  const bool known_cause = belongs_to_earlier(failure.faults);
  const std::string key = failing_.emplace_back(failure.faults).key();
  if (known_cause || findings_.contains(key)) return {};
  search::FindingRow known;
  auto reproduced = replay();
  if (!reproduced) return reproduced.error();
  known.reproduced = reproduced.value();
  const auto replaced = larger_than(failure.faults);
  for (const auto& [larger, number] : replaced) forget(larger);
  fail_point("finding");
  CounterexampleFiles::File file;
  if (auto written = files_.write(counterexample(failure, circumstances), &file); !written)
    session_.warn(written.error().message);
  known.number = file.number;
  known.counterexample = file.path;
  for (const auto& [larger, number] : replaced)
    session_.warn("fewer faults than those of finding " + std::to_string(number) +
                  " suffice: finding " + std::to_string(known.number) + " takes its place");
  findings_[key] = known;
  if (auto put = store_->put_finding(key, known); !put) return put;
  Finding finding;
  finding.minimal_execution = failure;
  finding.minimal = failure.faults;
  finding.reproduced = known.reproduced;
  finding.counterexample = known.counterexample;
  finding.number = known.number;
  finding.id = finding_id(failure.test, failure.faults);
  const bool accepted = is_accepted(failure);
  const uint32_t first = causes_.try_emplace(cause_key(failure), known.number).first->second;
  session_.sink({{"type", "finding"},
                 {"test", failure.test},
                 {"number", known.number},
                 {"first", first},
                 {"id", finding.id},
                 {"accepted", accepted},
                 {"headline", (accepted ? "accepted: " : "") + to_line(finding)},
                 {"text", to_text(finding)},
                 {"counterexample", known.counterexample}});
  return {};
}

std::vector<Finding> FindingsBook::so_far() const {
  std::vector<Execution> failures;
  for (const auto& [id, execution] : failures_) failures.push_back(execution);
  std::sort(failures.begin(), failures.end(),
            [](const Execution& a, const Execution& b) { return a.number < b.number; });
  std::vector<Finding> findings = group_failures(failures);
  for (Finding& finding : findings) {
    const auto known = findings_.find(FaultSet(finding.minimal).key());
    if (known == findings_.end()) continue;
    finding.reproduced = known->second.reproduced;
    finding.counterexample = known->second.counterexample;
    finding.number = known->second.number;
  }
  return findings;
}

std::string FindingsBook::not_found_again() {
  std::string earlier;
  for (const uint32_t number :
       files_.others([this](const std::string& key) { return findings_.contains(key); }))
    earlier += (earlier.empty() ? "" : ", ") + std::to_string(number) + ".json";
  if (earlier.empty()) return "";
  return "counterexamples of earlier runs of this test, which this run did not find: " + earlier +
         " in " + files_.folder() + "; `filibuster replay` says whether they still fail";
}

}  // namespace filibuster
