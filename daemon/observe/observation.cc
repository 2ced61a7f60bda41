#include "daemon/observe/observation.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>

#include "core/fault/attempts.h"
#include "core/index/execution_index.h"
#include "core/index/masks.h"
#include "daemon/model/call_name.h"
#include "daemon/model/caller.h"
#include "daemon/observe/rpc_matching.h"
#include "daemon/observe/stable_identities.h"
#include "daemon/report/finding_text.h"
#include "daemon/report/unknown_cause.h"

namespace filibuster {
namespace {

// The two places at which connects and requests are counted: the call site under its path, to this
// service; and all call sites under that path, to this service.
std::array<Hash128, 2> places_of(Hash128 parent, const std::string& service, Hash128 stack) {
  const Hash128 name = hash_text(service);
  return {call_place(parent, name, stack), call_place(parent, name, Hash128{})};
}

constexpr char kBesides = '=';  // between what the published reduction compares and the rest
constexpr std::string_view kLeft = "=not read";  // of an answer of which only the status was read

// What a failure's answer says besides its status, with kBesides; "" if that is nothing.
std::string said_besides(const RpcRecord& rpc, bool varies) {
  if (rpc.response.is_zero() || rpc.response == hash_text("")) return "";
  return kBesides + (varies ? "varies" : to_hex(rpc.response));
}

// Under which index the search knows an RPC: its own, unless it or one of its ancestors is unstable.
class SearchNames {
 public:
  explicit SearchNames(const UnstableRpcs& unstable) : unstable_(unstable) {}

  struct Name {
    Hash128 index, parent;
    std::string left_out;  // why the RPC is never faulted; empty: it is faulted
    std::string what;      // the RPC in words, without what varies
    bool dropped = false;  // the RPC is left out of the search
  };
  // `described`: the RPC in words, without what is masked.
  Name of(const RpcRecord& rpc, const std::string& described) {
    Name name{rpc.index, rpc.parent, {}, {}, false};
    if (unstable_.empty()) return name;
    const auto parent = names_.find(rpc.parent_rpc);
    const bool below = parent != names_.end() && !parent->second.left_out.empty();
    const UnstableKind* kind = unstable_.find(rpc);
    if (below) {
      name.parent = parent->second.index;
      name.dropped = parent->second.dropped;
      name.left_out = "caused by " + parent->second.what + ": " + parent->second.left_out;
    }
    if (kind != nullptr) {
      name.dropped = name.dropped || kind->sometimes;
      name.left_out = kind->reason;
    }
    if (!name.left_out.empty()) {
      const bool varies = kind != nullptr && !kind->path.empty();
      name.what = kind != nullptr && kind->sometimes
                      ? described
                      : caller_of(rpc) + " -> " + rpc.service + " " +
                            call_name(rpc, varies ? kind->path : path_of(rpc));
      const Hash128 base = combine(combine(name.parent, hash_text(name.what)), rpc.stack);
      name.index = combine(base, ++times_[base]);
    }
    names_.emplace(rpc.rpc, name);
    return name;
  }

 private:
  const UnstableRpcs& unstable_;
  std::unordered_map<uint64_t, Name> names_;
  std::map<Hash128, uint64_t> times_;
};

// What was read of an answer that was not read to its end, with kBesides; "": nothing.
std::string read_in_part(const RpcRecord& rpc) {
  return rpc.begun == 0 ? "" : kBesides + ("within " + std::to_string(rpc.begun));
}

}  // namespace

std::string_view status_alone(std::string_view outcome) {
  return outcome.substr(0, outcome.find(kBesides));
}

bool is_good_outcome(std::string_view outcome) {
  return outcome.starts_with("ok");
}

std::string outcome_in_words(std::string_view outcome) {
  constexpr std::string_view kStatus = "status:", kOk = "ok:";
  if (outcome.empty()) return "open";
  const std::string_view alone = status_alone(outcome);
  if (alone == "ok") return "answered";
  if (alone.starts_with(kStatus)) return std::string(alone.substr(kStatus.size()));
  if (!alone.starts_with(kOk)) return std::string(alone);
  // A reply of Redis has a digest and no status.
  const std::string_view status =
      alone.substr(kOk.size(), alone.find(':', kOk.size()) - kOk.size());
  return status.size() == 3 ? std::string(status) : "answered";
}

bool may_be_same(std::string_view one, std::string_view other) {
  if (one == other) return true;
  // "ok:200:DIGEST" -> "ok:200"
  const auto status = [](std::string_view outcome) {
    const std::string_view alone = status_alone(outcome);
    return alone.substr(0, alone.find(':', alone.find(':') + 1));
  };
  return (one.ends_with(kLeft) || other.ends_with(kLeft)) && status(one) == status(other);
}

std::string outcome_text(const RpcRecord& rpc, bool answer_varies) {
  if (rpc.injected && !rpc.refused_as_reset()) return fault_key(rpc.fault);
  if (rpc.open) return "";
  switch (rpc.outcome) {
    case RpcOutcome::kAnswered:
      if (rpc.is_grpc() && rpc.status == 200 && rpc.grpc_status != 0) {
        // Without a status the trailers are missing. Clients report different codes then.
        const std::string_view code = grpc_status_name(rpc);
        return (code.empty() ? "no grpc-status" : "grpc:" + std::string(code)) +
               said_besides(rpc, answer_varies);
      }
      if (rpc.code_space == CodeSpace::kRedis)
        return "redis:" + rpc.code + said_besides(rpc, answer_varies);
      if (rpc.status >= 400)
        return "status:" + std::to_string(rpc.status) + said_besides(rpc, answer_varies);
      // A 200 with a degraded body is not the same outcome: the body counts, or the reduction would
      // miss what the caller does with it.
      if (rpc.is_redis()) return answer_varies ? "ok" : "ok:" + to_hex(rpc.response);
      return "ok:" + std::to_string(rpc.status) + (answer_varies ? "" : ":" + to_hex(rpc.response));
    case RpcOutcome::kRefused:
      return "refused";
    case RpcOutcome::kClosed:
      return std::string("reset") + kBesides + "closed" + read_in_part(rpc);
    case RpcOutcome::kReset: {
      const std::string error = stream_error_name(rpc);
      return (error.empty() ? "reset" : "reset:" + error) + read_in_part(rpc);
    }
    case RpcOutcome::kTimedOut:
      // A caller that leaves in the middle of an answer has seen its head: that is no silence.
      return "timeout" + read_in_part(rpc);
    case RpcOutcome::kGarbled:
      return "garbled";
    case RpcOutcome::kNotRead:
      // As it is read at another time, where whether it is read varies.
      if (rpc.status < 400)
        return "ok:" + std::to_string(rpc.status) + std::string(answer_varies ? "" : kLeft);
      return "status:" + std::to_string(rpc.status) +
             std::string(answer_varies ? "=varies" : kLeft);
  }
  return "";
}

std::string describe_rpc(const RpcRecord& rpc, const std::vector<NondeterminismRule>& masks) {
  std::string path = path_of(rpc);
  if (const std::set<uint32_t> masked = masked_segments(masks, rpc);
      !masked.empty() && !rpc.is_redis()) {
    const std::string whole = std::exchange(path, "");
    each_segment(whole, [&](uint32_t number, std::string_view text) {
      path += "/" + (masked.contains(number) ? "*" : std::string(text));
    });
  }
  return caller_of(rpc) + " -> " + rpc.service + " " + call_name(rpc, path);
}

FaultChoice choose_faults(const Config& config, const RpcRecord& rpc, bool root_known) {
  FaultChoice choice;
  // What happens at the attempts of this call is planned already, whatever their indexes.
  if (rpc.attempt != 0) return choice;
  const std::string caller = caller_of(rpc);
  std::vector<FaultSpec> faults =
      faults_for(config, caller, rpc.service, rpc.method, path_of(rpc), rpc.protocol());
  const auto other =
      std::stable_partition(faults.begin(), faults.end(), [&](const FaultSpec& fault) {
        const bool opens = (rpc.flags & kRpcOpensConnection) != 0;
        const bool encrypted = (rpc.flags & kRpcEncrypted) != 0 || rpc.is_sealed();
        return fault_applies(fault, (rpc.flags & kRpcHttp2) != 0, rpc.protocol(),
                             opens && encrypted);
      });
  choice.not_applicable.assign(other, faults.end());
  faults.erase(other, faults.end());
  if (faults.empty()) return choice;
  if (!root_known) {
    choice.left_out = why_root_not_known(rpc);
  } else if ((rpc.flags & kRpcPreliminary) != 0 && !rpc.injected) {
    choice.left_out = kStayedPreliminary;
  } else {
    choice.faults = std::move(faults);
  }
  return choice;
}

Result<void> OutcomeTable::add_faults(const Config& config) {
  for (const FaultRule& rule : config.faults) {
    for (const FaultSpec& fault : rule.inject) {
      if (auto added = id(fault); !added) return added.error();
    }
  }
  for (const auto& defaults : {default_http_faults(), default_grpc_faults(),
                               default_redis_faults("SET", ""), default_sealed_faults()}) {
    for (const FaultSpec& fault : defaults) {
      if (auto added = id(fault); !added) return added.error();
    }
  }
  if (config.default_faults) {
    if (auto added = id(default_mutation_fault()); !added) return added.error();
  }
  return {};
}

Result<search::OutcomeId> OutcomeTable::id(const FaultSpec& fault) {
  auto number = id(fault_key(fault));
  if (number) faults_.emplace(number.value(), fault);
  return number;
}

Result<search::OutcomeId> OutcomeTable::id(const std::string& text) {
  const auto found = ids_.find(text);
  if (found != ids_.end()) return found->second;
  auto number = store_->outcome(text);
  if (number) ids_.emplace(text, number.value());
  return number;
}

const FaultSpec* OutcomeTable::fault(search::OutcomeId id) const {
  const auto found = faults_.find(id);
  return found == faults_.end() ? nullptr : &found->second;
}

Result<Observation> observe(const Config& config, const ExecutionRecord& record,
                            OutcomeTable* outcomes, const UnstableRpcs& unstable,
                            const std::vector<NondeterminismRule>& masks) {
  Observation out;
  const RpcsById rpcs = rpcs_by_id(record);
  SearchNames names(unstable);
  std::map<uint64_t, std::map<Hash128, std::string>> below;  // by RPC: outcomes by index
  std::set<uint64_t> varies_below;                           // RPCs
  // RPCs whose caller carries no agent, with their place in out.rpcs: nobody saw the answer's body.
  std::vector<std::pair<size_t, const RpcRecord*>> unseen;
  for (const RpcRecord& rpc : record.rpcs) {
    if ((rpc.flags & kRpcLate) != 0) continue;  // belongs to an older execution
    const bool known = root_is_known(rpcs, rpc);
    const FaultChoice choice = choose_faults(config, rpc, known);
    const std::string described = describe_rpc(rpc, masks);
    if (!choice.left_out.empty()) out.left_out.emplace(described, choice.left_out);
    const bool configured = !choice.faults.empty() || !choice.left_out.empty();
    if (!configured && rpc.attempt == 0 && !is_test_call(rpc))
      out.by_configuration.insert(described);
    for (const FaultSpec& fault : choice.not_applicable) {
      out.not_applicable.emplace(
          describe_fault(fault) + " at " + described,
          "does not apply: " + std::string(why_not_applicable(fault, rpc.protocol())));
    }
    // An RPC without a known cause (a heartbeat) comes at any time: in a group of ESR it would make
    // every execution differ.
    if (!known) {
      out.left_out.emplace(described, why_root_not_known(rpc));
      continue;
    }
    const SearchNames::Name name = names.of(rpc, described);
    if (!name.left_out.empty()) {
      out.left_out.emplace(name.what, name.left_out);
      if (!configured) out.by_configuration.insert(name.what);
    }
    if (name.dropped) continue;
    search::ObservedRpc seen;
    seen.index = name.index;
    seen.parent = name.parent;
    const std::string text = outcome_text(rpc, unstable.answer_varies(rpc));
    below[rpc.parent_rpc].emplace(seen.index, text);
    const bool varies = unstable.ending_varies(rpc);
    if (varies || rpc.outcome == RpcOutcome::kNotRead) varies_below.insert(rpc.parent_rpc);
    if ((rpc.flags & kRpcEntry) != 0 && !rpc.open) unseen.emplace_back(out.rpcs.size(), &rpc);
    auto outcome = outcomes->id(text);
    if (!outcome) return outcome.error();
    seen.outcome = outcome.value();
    if (rpc.injected) seen.injected = seen.outcome;
    const bool faulted = name.left_out.empty();
    if (faulted && !choice.faults.empty()) out.faulted.insert(described);
    for (const FaultSpec& fault : faulted ? choice.faults : std::vector<FaultSpec>()) {
      auto id = outcomes->id(fault);
      if (!id) return id.error();
      seen.faults.push_back(id.value());
    }
    out.rpcs.push_back(std::move(seen));
    out.outcome_varies.push_back(varies);
  }
  for (const auto& [place, rpc] : unseen) {
    Hash128 made_of;
    for (const auto& [index, text] : below[rpc->rpc])
      made_of = combine(made_of, combine(index, hash_text(text)));
    auto outcome = outcomes->id(outcome_text(*rpc) + kBesides + to_hex(made_of));
    if (!outcome) return outcome.error();
    out.rpcs[place].outcome = outcome.value();
    if (varies_below.contains(rpc->rpc)) out.outcome_varies[place] = true;
  }
  return out;
}

RpcsById rpcs_by_id(const ExecutionRecord& record) {
  RpcsById out;
  for (const RpcRecord& rpc : record.rpcs) out.emplace(rpc.rpc, &rpc);
  return out;
}

const RpcRecord* root_of(const RpcsById& rpcs, const RpcRecord& start) {
  const RpcRecord* rpc = &start;
  for (size_t steps = 0; steps <= rpcs.size(); ++steps) {
    const auto parent = rpcs.find(rpc->parent_rpc);
    if (rpc->parent_rpc == 0 || parent == rpcs.end()) return rpc;
    rpc = parent->second;
  }
  return nullptr;
}

bool root_is_known(const RpcsById& rpcs, const RpcRecord& start) {
  const RpcRecord* rpc = &start;
  for (size_t steps = 0; steps <= rpcs.size(); ++steps) {
    if (rpc->cause == Cause::kNone && !is_test_call(*rpc)) return false;
    if (rpc->parent_rpc == 0) return true;
    const auto parent = rpcs.find(rpc->parent_rpc);
    if (parent == rpcs.end()) return true;
    rpc = parent->second;
  }
  return false;  // a circle
}

namespace {

// "?kind=book" if another call of the execution differs from this one in what its caller, its service and its path say by
// nothing but the query.
std::string query_that_tells(const RpcsById& rpcs, const RpcRecord& rpc) {
  constexpr size_t kMostCompared = 2000;  // an execution has some tens of RPCs, and seldom more
  if (rpc.protocol() != Protocol::kHttp || rpcs.size() > kMostCompared) return "";
  const Target target = split_target(rpc.target);
  const bool alike = std::any_of(rpcs.begin(), rpcs.end(), [&](const auto& row) {
    const RpcRecord& other = *row.second;
    return other.target != rpc.target && other.service == rpc.service &&
           other.method == rpc.method && other.protocol() == Protocol::kHttp &&
           split_target(other.target).path == target.path && caller_of(other) == caller_of(rpc);
  });
  return alike && !target.query.empty() ? "?" + std::string(target.query) : "";
}

}  // namespace

InjectedFault describe_for_report(const RpcsById& rpcs, const RpcRecord& rpc) {
  InjectedFault out;
  out.index = rpc.index;
  out.caller = caller_of(rpc);
  out.service = rpc.service;
  out.method = rpc.method;
  out.path = path_of(rpc);
  out.query = query_that_tells(rpcs, rpc);
  out.protocol = rpc.protocol();
  out.arguments = rpc.arguments;
  out.stack = rpc.stack_text;
  if (!rpc.stack_text.empty()) out.call_site = rpc.stack_text.front();
  out.count = rpc.count;
  out.connect_key = rpc.connect_key;
  out.signature = rpc.signature;
  out.parent = rpc.parent;
  out.stack_hash = rpc.stack;
  out.number = rpc.number;
  out.service_number = rpc.service_number;
  out.service_path = {rpc.service};
  const RpcRecord* at = &rpc;
  for (size_t steps = 0; at != nullptr && steps <= rpcs.size(); ++steps) {
    out.service_path.push_back(caller_of(*at));
    const auto parent = rpcs.find(at->parent_rpc);
    at = at->parent_rpc == 0 || parent == rpcs.end() ? nullptr : parent->second;
  }
  std::reverse(out.service_path.begin(), out.service_path.end());
  return out;
}

void note_delivery(const ExecutionRecord& record, std::vector<InjectedFault>* faults) {
  for (InjectedFault& fault : *faults) {
    fault.as_reset = std::any_of(record.rpcs.begin(), record.rpcs.end(), [&](const RpcRecord& rpc) {
      return rpc.index == fault.index && rpc.refused_as_reset();
    });
    fault.attempts.clear();
    for (const RpcRecord& rpc : record.rpcs) {
      if (rpc.attempt == 0 || rpc.attempt_of != fault.index) continue;
      fault.attempts.push_back({rpc.attempt,
                                rpc.injected            ? to_text(rpc.fault)
                                : rpc.was_error_already ? "pass (" + ending_name(rpc) + " already)"
                                                        : "pass",
                                std::string(grouped_by_name(rpc.grouped_by))});
    }
    std::sort(fault.attempts.begin(), fault.attempts.end(),
              [](const AttemptSeen& a, const AttemptSeen& b) { return a.number < b.number; });
  }
}

bool keeps_connections(const ExecutionRecord& record, const std::string& caller,
                       const std::string& service) {
  constexpr uint32_t kSaysNothing = kRpcOpensConnection | kRpcRefusedAtConnect | kRpcEntry;
  return std::any_of(record.rpcs.begin(), record.rpcs.end(), [&](const RpcRecord& rpc) {
    return rpc.caller == caller && rpc.service == service && (rpc.flags & kSaysNothing) == 0;
  });
}

Result<void> KnownRpcs::note_unordered(Hash128 place) {
  if (!unordered_.insert(place).second) return {};
  return store_->note_unordered(place);
}

bool KnownRpcs::is_unordered(Hash128 place) {
  if (unordered_.contains(place)) return true;
  if (!ordered_.insert(place).second) return false;
  const auto stored = store_->is_unordered(place);  // by an earlier part of a session
  if (!stored.ok() || !stored.value()) return false;
  unordered_.insert(place);
  return true;
}

Result<void> KnownRpcs::learn_order(const ExecutionRecord& record, const UnstableRpcs& unstable) {
  std::unordered_map<Hash128, const RpcRecord*, Hash128Hasher> before;
  for (const RpcRecord& rpc : record.rpcs) {
    const bool comes_when_it_likes =
        unstable.find(rpc) != nullptr || unstable.comes_sometimes(rpc) != nullptr;
    for (const Hash128 place : places_of(rpc.parent, rpc.service, rpc.stack)) {
      const RpcRecord*& last = before[place];
      // RPCs are in order of issue, so one that is concurrent with any is concurrent with a neighbour.
      // The thread of an HTTP/2 request says nothing: any thread of the library may write it.
      const bool other_thread = rpc.thread != (last != nullptr ? last->thread : rpc.thread) &&
                                (rpc.flags & kRpcHttp2) == 0;
      const bool concurrent =
          last != nullptr && last != &rpc &&
          (other_thread || last->finished_ns == 0 || rpc.issued_ns < last->finished_ns);
      last = &rpc;
      if (!concurrent && !comes_when_it_likes) continue;
      if (auto noted = note_unordered(place); !noted) return noted;
    }
  }
  return {};
}

Result<void> KnownRpcs::learn(const ExecutionRecord& record,
                              const std::vector<NondeterminismRule>& masks,
                              const UnstableRpcs& unstable) {
  if (auto learned = learn_order(record, unstable); !learned) return learned;
  const RpcsById rpcs = rpcs_by_id(record);
  std::optional<StableIdentities> identities;  // most executions show nothing new
  for (const RpcRecord& rpc : record.rpcs) {
    const auto found = rpcs_.find(rpc.index);
    // What is known is replaced only for another connect_key. An RPC with an injected fault says nothing
    // about its connection, nor does one that used an open connection say where one is opened.
    const bool opens = (rpc.flags & kRpcOpensConnection) != 0;
    if (found != rpcs_.end() &&
        (rpc.injected || !opens || found->second.connect_key == rpc.connect_key))
      continue;
    InjectedFault known = describe_for_report(rpcs, rpc);
    known.as_reset = false;
    if (found != rpcs_.end()) {
      known.stable = found->second.stable;  // as of the first execution that had it
    } else {
      if (!identities) identities.emplace(record, masks);
      known.stable = identities->of(rpc.rpc);
    }
    if (auto put = store_->put_known_rpc(known); !put) return put;
    rpcs_.insert_or_assign(rpc.index, std::move(known));
  }
  return {};
}

void KnownRpcs::number(std::span<const search::ObservedRpc> prefix, InjectedFault* fault) {
  fault->number = fault->service_number = 0;
  const auto places = places_of(fault->parent, fault->service, fault->stack_hash);
  uint32_t number = 0, service_number = 0;
  for (const search::ObservedRpc& seen : prefix) {
    if (seen.parent != fault->parent) continue;
    const InjectedFault* rpc = find(seen.index);
    if (rpc == nullptr) return;
    if (rpc->service != fault->service) continue;
    ++service_number;
    if (rpc->stack_hash == fault->stack_hash) ++number;
    if (seen.index != fault->index) continue;
    if (!is_unordered(places[0])) fault->number = number;
    if (!is_unordered(places[1])) fault->service_number = service_number;
    return;
  }
}

const InjectedFault* KnownRpcs::find(Hash128 index) {
  const auto found = rpcs_.find(index);
  if (found != rpcs_.end()) return &found->second;
  auto known = store_->known_rpc(index);
  if (!known || !known.value()) return nullptr;
  return &rpcs_.emplace(index, std::move(*known.value())).first->second;
}

RpcRecord as_record(const InjectedFault& rpc) {
  RpcRecord out;
  out.caller = rpc.caller;
  out.service = rpc.service;
  out.method = rpc.method;
  out.target = rpc.path;
  if (rpc.protocol == Protocol::kGrpc) out.flags |= kRpcGrpc;
  if (rpc.protocol == Protocol::kRedis) out.flags |= kRpcRedis;
  if (rpc.protocol == Protocol::kSealed) out.flags |= kRpcSealed;
  return out;
}

PlannedRpcFault plan_fault(const InjectedFault& rpc, const FaultSpec& fault) {
  PlannedRpcFault out;
  out.index = rpc.index;
  out.fault = fault;
  out.signature = rpc.signature;
  out.parent = rpc.parent;
  out.count = rpc.count;
  out.connect_key = rpc.connect_key;
  out.stack = rpc.stack_hash;
  out.service = rpc.service;
  out.number = rpc.number;
  out.service_number = rpc.service_number;
  out.reset_expected = rpc.as_reset;
  return out;
}

std::string to_line(const InjectedFault& fault) {
  return call_text(fault, " ") + ": " + fault_text(fault);
}

std::string to_line(const std::vector<InjectedFault>& faults) {
  std::string out = "{";
  for (const InjectedFault& fault : faults) out += (out.size() > 1 ? "; " : "") + to_line(fault);
  return out + "}";
}

}  // namespace filibuster
