// Files whose change makes a test worth running again: those of the folder of the configuration, and the programs that it names.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace filibuster::cli {

class WatchedFiles {
 public:
  // `folder`: absolute; folders in it whose names begin with a dot, and node_modules, are left out. `results`: where the tool itself
  // writes.
  WatchedFiles(std::string folder, const std::string& results);

  // A run begins. `configuration`: the text of the configuration; words of it that are files, from the folder on, are watched, too.
  void begin_run(const std::string& configuration);
  // The run has ended. A file that changed in it, and in the run before, which its change had caused to be followed by this one, is
  // written by the run itself: from now on it counts only between runs. Returns those of which that is new.
  std::vector<std::string> end_run();
  // Waits until a file has changed since the run began, has come or is gone, and nothing has changed for a moment. Returns its name; "":
  // `stopped` said so.
  std::string wait(const std::function<bool()>& stopped);
  // More files than kMostFiles: the others are not watched.
  bool has_all() const { return has_all_; }
  static constexpr size_t kMostFiles = 20'000;

 private:
  using Stamps = std::map<std::string, int64_t>;  // by path: when it was written, in nanoseconds
  Stamps look();

  const std::string folder_, results_;
  std::set<std::string> programs_;
  Stamps known_;
  std::set<std::string> changed_in_run_;  // the last one that has ended
  std::set<std::string> products_;
  bool has_all_ = true;
};

}  // namespace filibuster::cli
