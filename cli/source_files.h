// Finds and reads the sources of a service: a folder and what is below it, or a program and what it
// imports.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/analysis/scan.h"
#include "core/result.h"

namespace filibuster::cli {

// Each file is read only once, even if several services have it.
class SourceFiles {
 public:
  // Paths are shown relative to `base` where they are below it.
  explicit SourceFiles(std::string base) : base_(std::move(base)) {}

  struct Found {
    analysis::ServiceSources sources;
    std::vector<std::string> remarks;  // what was skipped, and why
    std::string shown;  // "users.py and 2 files that it imports", "12 files in users"
  };
  // The sources at `paths`: single files, and folders with everything below them. All of them count.
  Result<Found> below(const std::vector<std::string>& paths);
  // The source of the program that the command `words` starts in `directory`, and what it imports;
  // nullopt: that source is not found.
  std::optional<Found> of_program(const std::vector<std::string>& words,
                                  const std::string& directory);
  // The same. If
  // that source is not found, all sources in the folder of the service: the folder of its program if that
  // is below `directory`, else `directory`.
  Result<Found> of_command(const std::vector<std::string>& words, const std::string& directory);

  std::string shown(const std::string& path) const;

 private:
  struct Skipped {
    std::map<std::string, std::vector<std::string>> by_reason;
  };
  std::shared_ptr<const analysis::Source> read(const std::string& path, Skipped* skipped);
  void walk(const std::string& folder, std::set<std::string>* files, Skipped* skipped) const;
  void follow(const std::string& path, const analysis::Source& source,
              std::vector<std::string>* next) const;
  static void remark(const Skipped& skipped, std::vector<std::string>* out);

  std::string base_;
  std::map<std::string, std::shared_ptr<const analysis::Source>> read_;
};

}  // namespace filibuster::cli
