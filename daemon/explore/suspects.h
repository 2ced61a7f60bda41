// What is likelier to fail than the rest, and comes earlier: the RPCs that the findings of an earlier report are about, and
// those that changed files make.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/model/injected_fault.h"

namespace filibuster {

class Suspects {
 public:
  // Adds the faults of the findings in the text of a report.json. Error: it is none of version 1.
  Result<void> add_report(std::string_view text);
  // The same for the file of a report. One that does not exist has no findings.
  Result<void> read_report(const std::string& path);
  // Adds a file that has changed: its path, absolute or relative to anything (`git diff
  // --name-only`).
  void add_file(std::string_view path);
  bool empty() const { return faults_.empty() && files_.empty(); }
  // For a later session that goes on with the same search. What is no such text has no suspects.
  std::string to_text() const;
  static Suspects of_text(std::string_view text);

  // True for a fault of an earlier finding, and for an RPC that has a changed file in its call
  // stack.
  bool are_met_by(const InjectedFault& fault) const;

  // In which order executions with equally many faults come (SearchOptions::rank): those whose
  // faults are all suspect, those of which some are, the rest. `suspect`: of each fault, whether it
  // is.
  static size_t rank(std::span<const bool> suspect);

 private:
  std::set<std::pair<std::string, std::string>> faults_;  // stable identity and fault
  std::set<std::string> files_;
};

}  // namespace filibuster
