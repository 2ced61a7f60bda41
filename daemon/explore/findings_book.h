// The failures of an exploration and the findings that they make: which failure is one of its own, its replay, its
// counterexample file, and what the store knows of it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "daemon/explore/counterexample_files.h"
#include "daemon/explore/test_run.h"
#include "daemon/model/finding.h"
#include "daemon/search/journal.h"
#include "daemon/store/store.h"

namespace filibuster {

class FindingsBook {
 public:
  // All arguments outlive the book.
  FindingsBook(const SessionContext* session, const Lane* lane, const TestConfig* test);
  // Null, or the store in which the findings are kept.
  void keep_in(search::SearchStore* store) { store_ = store; }

  // A failure of an earlier session of the same search. True: it is a finding.
  Result<bool> recall(Execution failure);
  void add(Execution failure) { failures_[failure.id] = std::move(failure); }
  // nullptr: that execution did not fail.
  const Execution* failure(search::AbstractId id) const;
  // Takes the failure out. nullopt: that execution did not fail.
  std::optional<Execution> take(search::AbstractId id);
  // The failures are forgotten, with the files of their findings: they are found again, under other indexes.
  void forget_all();
  void forget(const std::vector<InjectedFault>& faults);
  // Nothing is known any more. The files stay.
  void clear();

  // Findings of one cause (daemon/report/causes.h) count once.
  size_t count() const { return causes_.size(); }
  // True: the faults of an earlier failure are a subset of `faults`.
  bool belongs_to_earlier(const std::vector<InjectedFault>& faults) const;
  // True: a failure does not belong to an accepted finding.
  bool has_new_failure() const;

  // What a counterexample says of the exploration besides.
  struct Circumstances {
    std::string masks;
    std::chrono::milliseconds hang_limit{0};
  };
  // Tells of a failure, if it is a finding of its own. `replay` says whether it was reproduced; nullopt: it cannot be
  // replayed.
  Result<void> tell(const Execution& failure,
                    const std::function<Result<std::optional<bool>>()>& replay,
                    const Circumstances& circumstances);
  // Grouped by their minimal sets of faults, in the order in which they were found.
  std::vector<Finding> so_far() const;
  // Names the counterexamples of earlier runs that this run did not find. They are not removed: the failure may be
  // mended, or the options of this run may not reach it. "": there are none.
  std::string not_found_again();

 private:
  void forget(const std::string& key);
  // Findings that have these faults and others, with their numbers, by FaultSet::key.
  std::map<std::string, uint32_t> larger_than(const std::vector<InjectedFault>& faults) const;
  bool is_accepted(const Execution& failure) const;
  Counterexample counterexample(const Execution& failure, const Circumstances& circumstances) const;

  const SessionContext& session_;
  const Lane& lane_;
  const TestConfig& test_;
  search::SearchStore* store_ = nullptr;
  CounterexampleFiles files_;
  std::map<search::AbstractId, Execution> failures_;
  std::vector<FaultSet> failing_;
  std::map<std::string, search::FindingRow> findings_;  // by FaultSet::key
  // The number of the first finding of each cause, by cause_key().
  std::map<std::string, uint32_t> causes_;
};

}  // namespace filibuster
