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

}  // namespace

WatchedFiles::WatchedFiles(std::string folder, const std::string& configuration,
                           const std::string& results)
    : folder_(std::move(folder)), results_(fs::absolute(results).lexically_normal().string()) {
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

std::string WatchedFiles::wait(const std::function<bool()>& stopped) {
  std::string changed;
  while (!stopped()) {
    std::this_thread::sleep_for(kLook);
    Stamps now = look();
    std::string found;
    for (const auto& [path, time] : now) {
      const auto before = known_.find(path);
      if (before == known_.end() || before->second != time) found = path;
    }
    for (const auto& [path, time] : known_) {
      if (!now.contains(path)) found = path;
    }
    known_ = std::move(now);
    // An editor, or a build, writes several files.
    if (found.empty() && !changed.empty()) return changed;
    if (!found.empty()) changed = found;
  }
  return "";
}

}  // namespace filibuster::cli
