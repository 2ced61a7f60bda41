// Files whose change makes a test worth running again: those of the folder of the configuration, and the programs that it names.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <string>

namespace filibuster::cli {

class WatchedFiles {
 public:
  // `folder`: absolute; folders in it whose names begin with a dot, and node_modules, are left out. `configuration`: the text of the
  // configuration; words of it that are files, from the folder on, are watched, too. `results`: where the tool itself writes.
  WatchedFiles(std::string folder, const std::string& configuration, const std::string& results);

  // Waits until a file has changed, has come or is gone, and nothing has changed for a moment. Returns its name; "": `stopped` said so.
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
  bool has_all_ = true;
};

}  // namespace filibuster::cli
