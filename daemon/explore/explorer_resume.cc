// Decides whether an interrupted exploration may go on: only if the application is the same. The files
// of the programs are compared, and the new reference execution with the old one.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "daemon/explore/explorer.h"
#include "daemon/explore/program_files.h"
#include "daemon/model/caller.h"
#include "daemon/redact/redact.h"

namespace filibuster {
namespace {

using Json = nlohmann::json;
using Texts = std::map<std::string, std::string>;

// What is saved as a JSON object of texts. nullopt: the store does not have it.
Result<std::optional<Texts>> texts_of(search::SearchStore* store, Saved which) {
  auto text = store->saved(which);
  if (!text) return text.error();
  std::optional<Texts> out;
  if (!text.value()) return out;
  out.emplace();
  const Json json = Json::parse(*text.value(), nullptr, false);
  for (const auto& [name, value] : json.items()) {
    if (value.is_string()) out->emplace(name, value.get<std::string>());
  }
  return out;
}

// The outcome of an RPC of which it is known that it varies.
constexpr std::string_view kVaries = "varies";

// What is compared of one RPC of a reference execution.
struct Compared {
  std::string what, outcome, faults;
  std::string to_text() const { return dump_json(Json{what, outcome, faults}); }
  static Compared from(const std::string& text) {
    const Json json = Json::parse(text, nullptr, false);
    const auto at = [&](size_t i) {
      const bool there = json.is_array() && i < json.size() && json[i].is_string();
      return there ? json[i].get<std::string>() : std::string();
    };
    return {at(0), at(1), at(2)};
  }
};

// The record without requests from outside (health checks, pollers), which come at any time. If the
// test's own calls were seen, only these and the RPCs that they cause are kept.
ExecutionRecord of_the_test(const ExecutionRecord& record) {
  const auto issued_by_test = [](const RpcRecord& rpc) {
    return rpc.caller == kTestService && (rpc.flags & kRpcEntry) == 0;
  };
  ExecutionRecord out = record;
  if (std::none_of(record.rpcs.begin(), record.rpcs.end(), issued_by_test)) return out;
  const RpcsById rpcs = rpcs_by_id(record);
  std::erase_if(out.rpcs, [&](const RpcRecord& rpc) {
    const RpcRecord* root = root_of(rpcs, rpc);
    return root == nullptr || !issued_by_test(*root);
  });
  return out;
}

// The index of an RPC as reference_texts() writes it.
Hash128 index_in(const std::string& key) {
  constexpr size_t kDigits = 32;
  Hash128 index;
  from_hex(key.substr(0, kDigits), &index);
  return index;
}

Differences differences_of_rpcs(const Texts& before, const Texts& now) {
  Differences out;
  std::vector<std::string> gone, come;
  std::vector<std::string>& other = out.what;
  for (const auto& [index, text] : before) {
    const auto same = now.find(index);
    if (same == now.end()) {
      gone.push_back(Compared::from(text).what);
      out.lost.emplace_back(index_in(index), "");
      continue;
    }
    if (same->second == text) continue;
    out.lost.emplace_back(index_in(index), Compared::from(text).outcome);
    const Compared was = Compared::from(text), is = Compared::from(same->second);
    const bool varies = was.outcome == kVaries || is.outcome == kVaries;
    if (was.what == is.what && was.faults == is.faults &&
        (varies || may_be_same(was.outcome, is.outcome)))
      continue;
    const bool answer = was.faults == is.faults &&
                        ((was.outcome.starts_with("ok:") && is.outcome.starts_with("ok:")) ||
                         status_alone(was.outcome) == status_alone(is.outcome));
    out.answers += answer ? 1 : 0;
    other.push_back(answer ? "the answer to " + is.what + " is another one"
                    : was.faults != is.faults
                        ? is.what + " gets other faults"
                        : is.what + " ends with " + is.outcome + ", not " + was.outcome);
  }
  for (const auto& [index, text] : now) {
    if (!before.contains(index)) come.push_back(Compared::from(text).what);
  }
  for (const std::string& what : come) {
    const auto place = std::find(gone.begin(), gone.end(), what);
    other.push_back(place == gone.end() ? what + " is new"
                                        : what + " has another call site, request or cause");
    if (place != gone.end()) gone.erase(place);
  }
  for (const std::string& what : gone) other.push_back(what + " is made no longer");
  return out;
}

std::string difference_of_rpcs(const Texts& before, const Texts& now) {
  const std::vector<std::string> all = differences_of_rpcs(before, now).what;
  if (all.empty()) return "";
  return all.front() +
         (all.size() == 1 ? "" : ", and " + std::to_string(all.size() - 1) + " more differences");
}

}  // namespace

// The files of services that were started by hand, found by their processes.
Texts Explorer::files_by_hand() const {
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
  auto before = texts_of(store_.get(), Saved::kFiles);
  if (!before) return before.error();
  if (!before.value()) return std::string("it is not known which files its programs were");
  return difference(*before.value(), files_);
}

// The files that have changed since the last exploration of this test are suspects.
Result<void> Explorer::note_changed_files() {
  auto before = texts_of(store_.get(), Saved::kFiles);
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

// The reference execution as it is stored and compared: index in hexadecimal -> Compared::to_text.
Result<Texts> Explorer::reference_texts(const ExecutionRecord& whole) {
  const ExecutionRecord record = of_the_test(whole);
  // What comes and goes by itself is no difference.
  auto observed = dispatcher_->observe(
      record, unstable_.has_recurring() ? unstable_.without_recurring() : unstable_, masks_);
  if (!observed) return observed.error();
  const Observation& seen = observed.value();
  std::unordered_map<Hash128, std::string, Hash128Hasher> names;
  for (const RpcRecord& rpc : record.rpcs)
    names.emplace(rpc.index, redact(describe_rpc(rpc, masks_)));
  Texts out;
  for (size_t i = 0; i < seen.rpcs.size(); ++i) {
    const search::ObservedRpc& rpc = seen.rpcs[i];
    Compared row;
    const auto name = names.find(rpc.index);
    row.what = name == names.end() ? "a call that varies" : name->second;
    // What is known to vary shows no change of the application.
    row.outcome = seen.outcome_varies[i] ? kVaries : store_->outcome_text(rpc.outcome);
    for (const search::OutcomeId fault : rpc.faults)
      row.faults += std::string(store_->outcome_text(fault)) + " ";
    std::string key = to_hex(rpc.index);
    while (!out.emplace(key, row.to_text()).second) key += "+";
  }
  return out;
}

Result<void> Explorer::keep_reference(const ExecutionRecord& record) {
  auto texts = reference_texts(record);
  if (!texts) return texts.error();
  if (auto set = store_->save(Saved::kFilesByHand, dump_json(files_by_hand())); !set) return set;
  return store_->save(Saved::kReferenceRpcs, dump_json(texts.value()));
}

Result<std::string> Explorer::reference_changed(const ExecutionRecord& record) {
  auto now = reference_texts(record);
  if (!now) return now.error();
  auto before = texts_of(store_.get(), Saved::kReferenceRpcs);
  if (!before) return before.error();
  auto by_hand = texts_of(store_.get(), Saved::kFilesByHand);
  if (!by_hand) return by_hand.error();
  if (!before.value() || !by_hand.value())
    return std::string("it is not known how the test went without faults");
  std::string why = difference(*by_hand.value(), files_by_hand());
  return why.empty() ? difference_of_rpcs(*before.value(), now.value()) : why;
}

Result<Differences> Explorer::reference_differences(const ExecutionRecord& record) {
  auto now = reference_texts(record);
  if (!now) return now.error();
  auto before = texts_of(store_.get(), Saved::kReferenceRpcs);
  if (!before) return before.error();
  return differences_of_rpcs(before.value().value_or(Texts()), now.value());
}

// What differs between two executions of one plan; "": nothing.
Result<std::string> Explorer::records_differ(const ExecutionRecord& one,
                                             const ExecutionRecord& other) {
  auto before = reference_texts(one);
  if (!before) return before.error();
  auto now = reference_texts(other);
  if (!now) return now.error();
  return difference_of_rpcs(before.value(), now.value());
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
  unstable_ = {};
  appearances_ = {};
  misses_.clear();
  sent_again_.clear();
  seconds_.clear();
  exploration_.report.skipped.clear();
  exploration_.report.variations.clear();
  exploration_.report.proposed_masks.clear();
  exploration_.report.again = {};
  proposed_.clear();
  restart_ = true;
  if (auto opened = open_store(); !opened) return opened;
  resumed_ = exploration_.resumed = false;
  session_.sink({{"type", "session"}, {"test", test_.name}, {"resumed", false}});
  return {};
}

}  // namespace filibuster
