// What a run with --coverage shows for each service and file: what was reached without faults, what
// only under faults, and what never.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "daemon/coverage/lines.h"

namespace filibuster::coverage {

struct Counts {
  size_t statements = 0;
  size_t without_faults = 0;  // reached by the executions without faults
  size_t reached = 0;         // by all executions
  size_t only_under_faults() const { return reached - without_faults; }
  size_t never() const { return statements - reached; }
  void add(const Counts& other);
};

struct FileReport {
  std::string file;      // relative to the configuration's folder where it lies below it
  FileLines all;         // of all executions
  Lines without_faults;  // reached by those without faults
  Counts counts() const;
  std::vector<Range> only_under_faults() const;
  std::vector<Range> never() const;
};

struct ServiceReport {
  std::string service;
  std::vector<std::string> tools;  // "coverage.py", "gcov", ...
  std::vector<FileReport> files;   // in order of their names
  std::string reason;              // why nothing was measured; empty: something was
  std::vector<std::string> notes;
  Counts counts() const;
};

struct Report {
  std::string session, config_path;
  std::vector<ServiceReport> services;  // in order of the configuration
  std::vector<std::string> notes;
  Counts counts() const;  // a line of a file that several services run counts once
};

// `without`: reached by executions without faults, `under`: by the others.
std::vector<FileReport> compare(const Files& without, const Files& under,
                                const std::string& directory);

// coverage.json, version 1 (docs/report.md).
std::string to_json(const Report& report);
// The same for a document that has more.
nlohmann::ordered_json to_row(const Report& report);
// What stands on the terminal at the end.
std::string to_text(const Report& report);

}  // namespace filibuster::coverage
