// Decides whether an interrupted exploration may go on: only if the application is the same. The files
// of the programs are compared, and the new reference execution with the old one (reference_memory.h).
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "daemon/explore/explorer.h"
#include "daemon/explore/program_files.h"
#include "daemon/model/caller.h"
#include "daemon/redact/redact.h"

namespace filibuster {
// The files of services that were started by hand, found by their processes.
std::map<std::string, std::string> Explorer::files_by_hand() const {
  namespace fs = std::filesystem;
  ProgramFiles files(lane_.place().root);
  const auto add = [&](uint32_t pid, const std::string& executable) {
    const std::string process = "/proc/" + std::to_string(pid);
    std::vector<std::string> argv;
    const auto line = read_file(process + "/cmdline");
    std::error_code failed;
    const std::string directory = fs::read_symlink(process + "/cwd", failed).string();
    if (!line || failed) return;
    for (size_t at = 0; at < line.value().size(); at += argv.back().size() + 1)
      argv.emplace_back(line.value().c_str() + at);
    if (!argv.empty()) argv.front() = executable;
    files.add_command(argv, directory, "");
    if (directory != "/") files.add_folder(directory);
  };
  for (const attach::FoundService& service : lane_.services().attached()) {
    const auto pid = static_cast<uint32_t>(service.processes.front().pid);
    add(pid, attach::Proc().executable(service.processes.front().pid));
  }
  for (const AgentRecord& agent : lane_.hub().agents()) {
    const bool by_hand = std::any_of(config_.services.begin(), config_.services.end(),
                                     [&](const ServiceConfig& service) {
                                       return service.name == agent.service && service.is_by_hand();
                                     });
    if (agent.alive && by_hand) add(agent.pid, agent.executable);
  }
  return files.files();
}

Result<std::string> Explorer::files_changed() {
  auto before = saved_texts(store_.get(), Saved::kFiles);
  if (!before) return before.error();
  if (!before.value()) return std::string("it is not known which files its programs were");
  return difference(*before.value(), files_);
}

// The files that have changed since the last exploration of this test are suspects.
Result<void> Explorer::note_changed_files() {
  auto before = saved_texts(store_.get(), Saved::kFiles);
  if (!before) return before.error();
  if (!before.value()) return {};
  for (const auto& [path, digest] : files_) {
    const auto known = before.value()->find(path);
    if (known == before.value()->end() || known->second != digest) suspects_.add_file(path);
  }
  return {};
}

Result<void> Explorer::keep_files() {
  return store_->save(Saved::kFiles, dump_json(files_));
}

void Explorer::tell_why_anew(const std::string& why) {
  warn("test '" + test_.name + "' was interrupted and begins anew: " + why);
}

// Says so if the same test was interrupted under another configuration: that search has another folder,
// and stays there.
void Explorer::tell_if_configured_otherwise(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(fs::path(folder).parent_path(), failed)) {
    const fs::path path = entry.path() / "search.db";
    if (entry.path() == folder || !fs::exists(path, failed)) continue;
    const auto other = search::SearchStore::open(path.string());
    if (!other) continue;
    const auto progress = other.value()->progress();
    if (!progress || progress->test != test_.name || !progress->is_interrupted()) continue;
    return tell_why_anew(
        "its configuration is another one, or the options that decide what is explored");
  }
}

Result<void> Explorer::begin_anew(const std::string& why) {
  tell_why_anew(why);
  dispatcher_.reset();
  store_.reset();
  findings_.clear();
  evidence_.clear();
  varies_.clear();
  sent_again_.clear();
  seconds_.clear();
  exploration_.report.skipped.clear();
  drifts_.clear();
  restart_ = true;
  if (auto opened = open_store(); !opened) return opened;
  resumed_ = exploration_.resumed = false;
  session_.sink({{"type", "session"}, {"test", test_.name}, {"resumed", false}});
  return {};
}

}  // namespace filibuster
