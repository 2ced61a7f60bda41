#include "cli/watched_files.h"

#include <filesystem>
#include <sstream>
#include <thread>

namespace filibuster::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kLook{250};  // between two looks

int64_t written_at(const fs::path& path) {
  std::error_code failed;
  const auto time = fs::last_write_time(path, failed);
  return failed ? 0 : static_cast<int64_t>(time.time_since_epoch().count());
}

bool is_left_out(const fs::path& folder) {
  const std::string name = folder.filename().string();
  return name.starts_with('.') || name == "node_modules" || name == "__pycache__";
}

// What is new, gone, or was written in between.
std::set<std::string> differences(const std::map<std::string, int64_t>& before,
                                  const std::map<std::string, int64_t>& now) {
  std::set<std::string> out;
  for (const auto& [path, time] : now) {
    const auto found = before.find(path);
    if (found == before.end() || found->second != time) out.insert(path);
  }
  for (const auto& [path, time] : before) {
    if (!now.contains(path)) out.insert(path);
  }
  return out;
}

}  // namespace

WatchedFiles::WatchedFiles(std::string folder, const std::string& results)
    : folder_(std::move(folder)), results_(fs::absolute(results).lexically_normal().string()) {}

void WatchedFiles::begin_run(const std::string& configuration) {
  programs_.clear();
  std::string words = configuration;
  for (char& c : words) {
    if (c == '"' || c == '\'' || c == ',' || c == '[' || c == ']') c = ' ';
  }
  std::istringstream in(words);
  std::error_code failed;
  for (std::string word; in >> word;) {
    const fs::path path = (fs::path(folder_) / word).lexically_normal();
    if (fs::is_regular_file(path, failed)) programs_.insert(path.string());
  }
  known_ = look();
}

WatchedFiles::Stamps WatchedFiles::look() {
  Stamps out;
  for (const std::string& program : programs_) out[program] = written_at(program);
  std::error_code failed;
  fs::recursive_directory_iterator each(folder_, fs::directory_options::skip_permission_denied,
                                        failed);
  const fs::recursive_directory_iterator end;
  while (!failed && each != end) {
    if (out.size() >= kMostFiles) {
      has_all_ = false;
      break;
    }
    std::error_code gone;
    if (each->is_directory(gone) &&
        (is_left_out(each->path()) || each->path().string() == results_)) {
      each.disable_recursion_pending();
    } else if (each->is_regular_file(gone)) {
      out[each->path().string()] = written_at(each->path());
    }
    each.increment(failed);
  }
  return out;
}

std::vector<std::string> WatchedFiles::end_run() {
  const Stamps now = look();
  std::set<std::string> changed = differences(known_, now);
  std::vector<std::string> out;
  for (const std::string& path : changed) {
    if (changed_in_run_.contains(path) && products_.insert(path).second) out.push_back(path);
    if (!products_.contains(path)) continue;
    if (const auto found = now.find(path); found != now.end())
      known_[path] = found->second;
    else
      known_.erase(path);
  }
  changed_in_run_ = std::move(changed);
  return out;
}

std::string WatchedFiles::wait(const std::function<bool()>& stopped) {
  std::string changed;
  while (!stopped()) {
    std::this_thread::sleep_for(kLook);
    Stamps now = look();
    const std::set<std::string> found = differences(known_, now);
    known_ = std::move(now);
    // An editor, or a build, writes several files.
    if (found.empty() && !changed.empty()) return changed;
    if (!found.empty()) changed = *found.begin();
  }
  return "";
}

}  // namespace filibuster::cli
