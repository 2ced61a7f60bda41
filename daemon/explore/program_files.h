// The files that a program is made of, so that an interrupted exploration does not go on with another
// version of the program: the files that its command names, and the files of code beneath the folder
// where it runs.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/process/session_lane.h"

namespace filibuster {

class ProgramFiles {
 public:
  static constexpr size_t kMostEntries = 20'000;
  // `ignored`: a folder that is not looked into (the one that sessions write to). `most_entries`: at
  // most so many directories and files of code are looked at beneath one folder.
  explicit ProgramFiles(std::string ignored, size_t most_entries = kMostEntries)
      : ignored_(std::move(ignored)), most_entries_(most_entries) {}

  // Adds the program (by PATH if it has no slash), and every word of the command, or of a shell's text
  // in it, that names a program, a file of code or a folder, relative to `directory`.
  void add_command(const std::vector<std::string>& argv, const std::string& directory,
                   std::string_view path_variable);
  // Adds the files beneath the folder that a runtime reads as code, without hidden folders and
  // packages of others (node_modules, virtual environments).
  void add_folder(const std::string& folder);

  // Path -> digest of the file. A folder with more entries than are looked at has a row that says so.
  const std::map<std::string, std::string>& files() const { return files_; }

 private:
  void add_file(const std::string& path);
  void add_word(std::string_view word, const std::string& directory);
  void add_words(std::string_view text, const std::string& directory);

  std::string ignored_;
  std::map<std::string, std::string> files_;
  const size_t most_entries_;
  std::set<std::string> walked_;  // folders
};

// The files of what the session starts: the services that have commands, and the test.
std::map<std::string, std::string> program_files(const Config& config, const SessionLane& lane,
                                                 const TestConfig& test);

// "users.py has changed", "users.py is new, and 2 more differ"; "" where nothing differs.
std::string difference(const std::map<std::string, std::string>& before,
                       const std::map<std::string, std::string>& now);

}  // namespace filibuster
