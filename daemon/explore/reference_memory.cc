#include "daemon/explore/reference_memory.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "daemon/explore/program_files.h"
#include "daemon/model/caller.h"
#include "daemon/observe/observation.h"
#include "daemon/process/session_lane.h"
#include "daemon/redact/redact.h"

namespace filibuster {
namespace {

using search::Saved;
using Json = nlohmann::json;

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

Result<std::optional<Texts>> saved_texts(search::SearchStore* store, Saved which) {
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

// The reference execution as it is stored and compared: index in hexadecimal -> Compared::to_text.
Result<Texts> ReferenceMemory::texts_of(const ExecutionRecord& whole) {
  const ExecutionRecord record = of_the_test(whole);
  const UnstableRpcs& unstable = varies_.unstable();
  // What comes and goes by itself is no difference.
  auto observed = dispatcher_->observe(
      record, unstable.has_recurring() ? unstable.without_recurring() : unstable, varies_.masks());
  if (!observed) return observed.error();
  const Observation& seen = observed.value();
  std::unordered_map<Hash128, std::string, Hash128Hasher> names;
  for (const RpcRecord& rpc : record.rpcs)
    names.emplace(rpc.index, redact(describe_rpc(rpc, varies_.masks())));
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

Result<void> ReferenceMemory::keep(const ExecutionRecord& record, const Texts& files_by_hand) {
  auto texts = texts_of(record);
  if (!texts) return texts.error();
  if (auto set = store_->save(Saved::kFilesByHand, dump_json(files_by_hand)); !set) return set;
  return store_->save(Saved::kReferenceRpcs, dump_json(texts.value()));
}

Result<std::string> ReferenceMemory::changed(const ExecutionRecord& record,
                                             const Texts& files_by_hand) {
  auto now = texts_of(record);
  if (!now) return now.error();
  auto before = saved_texts(store_, Saved::kReferenceRpcs);
  if (!before) return before.error();
  auto by_hand = saved_texts(store_, Saved::kFilesByHand);
  if (!by_hand) return by_hand.error();
  if (!before.value() || !by_hand.value())
    return std::string("it is not known how the test went without faults");
  std::string why = difference(*by_hand.value(), files_by_hand);
  return why.empty() ? difference_of_rpcs(*before.value(), now.value()) : why;
}

Result<Differences> ReferenceMemory::differences(const ExecutionRecord& record) {
  auto now = texts_of(record);
  if (!now) return now.error();
  auto before = saved_texts(store_, Saved::kReferenceRpcs);
  if (!before) return before.error();
  return differences_of_rpcs(before.value().value_or(Texts()), now.value());
}

Result<std::string> ReferenceMemory::differ(const ExecutionRecord& one,
                                            const ExecutionRecord& other) {
  auto before = texts_of(one);
  if (!before) return before.error();
  auto now = texts_of(other);
  if (!now) return now.error();
  return difference_of_rpcs(before.value(), now.value());
}

}  // namespace filibuster
