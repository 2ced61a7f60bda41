#include "daemon/explore/stored_search.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "daemon/explore/program_files.h"
#include "daemon/process/session_lane.h"
#include "daemon/redact/redact.h"

namespace filibuster {
namespace {

using search::Saved;
namespace fs = std::filesystem;

}  // namespace

std::string session_digest(const Config& config, const std::string& config_text,
                           const std::string& test) {
  std::string all = std::to_string(search::SearchStore::kMajor) + test + '\0' + config_text + '\0' +
                    config.directory + '\0';
  all += std::to_string(config.index_parts) + std::string(reduction_name(config.reduce)) +
         (config.fast_timeouts ? "f" : "-") + std::to_string(config.bounds.max_faults);
  for (const std::string& rule : describe_faults(config)) all += '\0' + rule;
  for (const ServiceConfig& service : config.services) {
    if (service.contract) all += '\0' + service.contract->text;
  }
  return to_hex(hash_text(all)).substr(0, 16);
}

std::map<std::string, std::string> StoredSearch::files_by_hand() const {
  ProgramFiles files(state_.lane.place().root);
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
  for (const attach::FoundService& service : state_.lane.services().attached()) {
    const auto pid = static_cast<uint32_t>(service.processes.front().pid);
    add(pid, attach::Proc().executable(service.processes.front().pid));
  }
  for (const AgentRecord& agent : state_.lane.hub().agents()) {
    const bool by_hand = std::any_of(state_.config.services.begin(), state_.config.services.end(),
                                     [&](const ServiceConfig& service) {
                                       return service.name == agent.service && service.is_by_hand();
                                     });
    if (agent.alive && by_hand) add(agent.pid, agent.executable);
  }
  return files.files();
}

Result<std::string> StoredSearch::files_changed() {
  auto before = saved_texts(state_.store.get(), Saved::kFiles);
  if (!before) return before.error();
  if (!before.value()) return std::string("it is not known which files its programs were");
  return difference(*before.value(), files_);
}

// The files that have changed since the last exploration of this test are suspects.
Result<void> StoredSearch::note_changed_files() {
  auto before = saved_texts(state_.store.get(), Saved::kFiles);
  if (!before) return before.error();
  if (!before.value()) return {};
  for (const auto& [path, digest] : files_) {
    const auto known = before.value()->find(path);
    if (known == before.value()->end() || known->second != digest) suspects_.add_file(path);
  }
  return {};
}

// A search that goes on keeps the suspects with which it began, and so its order: its own findings stand in the report by now.
Result<void> StoredSearch::keep_suspects(bool goes_on) {
  if (goes_on) {
    auto kept = state_.store->saved(Saved::kSuspects);
    if (!kept) return kept.error();
    if (kept.value()) suspects_ = Suspects::of_text(*kept.value());
    if (kept.value()) return {};
  }
  return state_.store->save(Saved::kSuspects, suspects_.to_text());
}

void StoredSearch::tell_why_anew(const std::string& why) {
  state_.session.warn("test '" + state_.test.name + "' was interrupted and begins anew: " + why);
}

// Says so if the same test was interrupted under another configuration: that search has another folder,
// and stays there.
void StoredSearch::tell_if_configured_otherwise(const std::string& folder) {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(fs::path(folder).parent_path(), failed)) {
    const fs::path path = entry.path() / "search.db";
    if (entry.path() == folder || !fs::exists(path, failed)) continue;
    const auto other = search::SearchStore::open(path.string());
    if (!other) continue;
    const auto progress = other.value()->progress();
    if (!progress || progress->test != state_.test.name || !progress->is_interrupted()) continue;
    return tell_why_anew(
        "its configuration is another one, or the options that decide what is explored");
  }
}

Result<void> StoredSearch::begin_anew(const std::string& why) {
  tell_why_anew(why);
  state_.dispatcher.reset();
  state_.store.reset();
  state_.findings.clear();
  state_.evidence.clear();
  state_.varies.clear();
  state_.drifts.clear();
  state_.ended.clear();
  state_.report.skipped.clear();
  mutations_.clear();
  if (auto opened = open(true); !opened) return opened;
  state_.resumed = false;
  tell_session();
  return {};
}

void StoredSearch::tell_session() {
  state_.session.sink(
      {{"type", "session"}, {"test", state_.test.name}, {"resumed", state_.resumed}});
}

Result<void> StoredSearch::open_file(const std::string& path) {
  auto store = search::SearchStore::open(path);
  if (!store) return store.error();
  state_.store = std::move(store).value();
  state_.findings.keep_in(state_.store.get());
  state_.evidence.keep_in(state_.store.get());
  state_.varies.keep_in(state_.store.get());
  state_.drifts.keep_in(state_.store.get());
  return {};
}

Result<void> StoredSearch::open() {
  if (auto opened = open(state_.session.restart); !opened) return opened;
  state_.resumed = state_.dispatcher->has_begun();
  tell_session();
  return {};
}

// `restart`: an interrupted search is forgotten.
Result<void> StoredSearch::open(bool restart) {
  const std::string folder =
      state_.lane.place().root + "/sessions/" +
      session_digest(state_.config, state_.session.config_text, state_.test.name);
  const std::string path = folder + "/search.db";
  if (auto made = make_private_folder(folder); !made) return made;
  if (auto opened = open_file(path); !opened) return opened;
  auto progress = state_.store->progress();
  if (!progress) return progress.error();
  const bool begun = !progress->test.empty();
  // A search is continued only if it was interrupted and its programs are the same; else it begins anew.
  files_ = program_files(state_.config, state_.lane.place(), state_.test);
  bool anew = restart || (begun && progress->finished);
  if (!anew && begun) {
    auto why = files_changed();
    if (!why) return why.error();
    anew = !why.value().empty();
    if (anew) tell_why_anew(why.value());
  }
  if (begun) {
    if (auto noted = note_changed_files(); !noted) return noted;
  }
  if (!begun && !restart) tell_if_configured_otherwise(folder);
  if (anew) {
    state_.store.reset();
    std::error_code failed;
    for (const char* suffix : {"", "-wal", "-shm", "-journal"}) fs::remove(path + suffix, failed);
    if (auto opened = open_file(path); !opened) return opened;
  }
  search::SearchStore& store = *state_.store;
  if (auto set = store.set_progress({state_.test.name, false}); !set) return set;
  if (auto kept = store.save(Saved::kFiles, dump_json(files_)); !kept) return kept;
  if (auto kept = keep_suspects(begun && !anew); !kept) return kept;
  auto dispatcher =
      Dispatcher::open(state_.config, state_.session.deadline, suspects_, state_.store.get());
  if (!dispatcher) return dispatcher.error();
  state_.dispatcher = std::move(dispatcher).value();
  state_.memory.keep_in(state_.store.get(), state_.dispatcher.get());
  return load_results();
}

// What an earlier session of the same search has kept for the report.
Result<void> StoredSearch::load_results() {
  if (auto loaded = state_.evidence.load(); !loaded) return loaded;
  if (auto loaded = state_.varies.load_appearances(); !loaded) return loaded;
  if (auto loaded = mutations_.load(); !loaded) return loaded;
  if (auto loaded = state_.drifts.load(); !loaded) return loaded;
  auto rows = state_.store->results();
  if (!rows) return rows.error();
  for (search::ResultRow& row : rows.value()) {
    std::atomic<uint32_t>& next = state_.session.counters.next_execution;
    for (uint32_t seen = next;
         seen <= row.number && !next.compare_exchange_weak(seen, row.number + 1);) {
    }
    state_.ended.add_seconds(row.seconds);
    state_.ended.put(row);
    if (row.skipped) state_.report.skipped.push_back(*row.skipped);
    if (!row.failure) continue;
    state_.dispatcher->failed(row.id);
    Execution execution = std::move(*row.failure);
    execution.test = state_.test.name;
    auto is_finding = state_.findings.recall(std::move(execution));
    if (!is_finding) return is_finding.error();
    if (is_finding.value()) state_.ended.trees.insert(row.number);
  }
  return {};
}

Result<void> StoredSearch::close(bool finished) {
  if (finished) {
    if (auto set = state_.store->set_progress({state_.test.name, true}); !set) return set;
  }
  return state_.store->flush();
}

}  // namespace filibuster
