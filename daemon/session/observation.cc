#include "daemon/session/observation.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "daemon/agents/call_name.h"
#include "daemon/agents/caller.h"

namespace filibuster {
namespace {

std::string path_of(const RpcRecord& rpc) {
  return std::string(split_target(rpc.target).path);
}

// Where a connect cannot tell RPCs apart: one call site under one path, to one service.
Hash128 site_of(const RpcRecord& rpc) {
  return combine(combine(rpc.parent, rpc.stack), hash_text(rpc.service));
}

// True when the cause of the RPC, and of the RPC that caused it, and so on, is known.
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

// Under which index the search knows an RPC: its own, unless it or one of its ancestors is unstable.
class StableNames {
 public:
  explicit StableNames(const UnstableRpcs& unstable) : unstable_(unstable) {}

  struct Name {
    Hash128 index, parent;
    std::string left_out;  // why it is never faulted; empty: it is
    std::string what;      // the RPC, without what varies
    bool dropped = false;  // it has no place in the search
  };
  Name of(const RpcRecord& rpc) {
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
      name.what = caller_of(rpc) + " -> " + rpc.service + " " +
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

}  // namespace

std::string outcome_text(const RpcRecord& rpc, bool answer_varies) {
  if (rpc.injected) return fault_key(rpc.fault);
  if (rpc.open) return "";
  switch (rpc.outcome) {
    case RpcOutcome::kAnswered:
      if (rpc.is_grpc() && rpc.status == 200 && rpc.grpc_status != 0) {
        // Without a status the trailers are missing; clients make different codes of that.
        const std::string_view code = grpc_status_name(rpc);
        return code.empty() ? "no grpc-status" : "grpc:" + std::string(code);
      }
      if (rpc.status >= 400) return "status:" + std::to_string(rpc.status);
      // A degraded 200 is not the same success: what it says counts, or the reduction would miss
      // what its caller does with it.
      return "ok:" + std::to_string(rpc.status) +
             (answer_varies ? "" : ":" + to_hex(rpc.response));
    case RpcOutcome::kRefused:
      return "refused";
    case RpcOutcome::kReset:
    case RpcOutcome::kClosed: {
      const std::string error = stream_error_name(rpc);
      return error.empty() ? "reset" : "reset:" + error;
    }
    case RpcOutcome::kTimedOut:
      return "timeout";
    case RpcOutcome::kGarbled:
      return "garbled";
  }
  return "";
}

std::string describe_rpc(const RpcRecord& rpc) {
  return caller_of(rpc) + " -> " + rpc.service + " " + call_name(rpc, path_of(rpc));
}

FaultChoice choose_faults(const Config& config, const RpcRecord& rpc, bool root_known) {
  FaultChoice choice;
  const std::string caller = caller_of(rpc);
  std::vector<FaultSpec> faults =
      faults_for(config, caller, rpc.service, rpc.method, path_of(rpc), rpc.is_grpc());
  const auto other = std::stable_partition(
      faults.begin(), faults.end(),
      [&](const FaultSpec& fault) {
        return fault_applies(fault, (rpc.flags & kRpcHttp2) != 0, rpc.is_grpc());
      });
  choice.not_applicable.assign(other, faults.end());
  faults.erase(other, faults.end());
  if (faults.empty()) return choice;
  if (!root_known) {
    choice.left_out = rpc.cause == Cause::kNone ? "its cause is not known"
                                                : "caused by an RPC whose own cause is not known";
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
  for (const auto& defaults : {default_http_faults(), default_grpc_faults()}) {
    for (const FaultSpec& fault : defaults) {
      if (auto added = id(fault); !added) return added.error();
    }
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
                            OutcomeTable* outcomes, const UnstableRpcs& unstable) {
  Observation out;
  const RpcsById rpcs = rpcs_by_id(record);
  StableNames names(unstable);
  for (const RpcRecord& rpc : record.rpcs) {
    if ((rpc.flags & kRpcLate) != 0) continue;  // belongs to an older execution
    const bool known = root_is_known(rpcs, rpc);
    const FaultChoice choice = choose_faults(config, rpc, known);
    if (!choice.left_out.empty()) out.left_out.emplace(describe_rpc(rpc), choice.left_out);
    for (const FaultSpec& fault : choice.not_applicable) {
      out.not_applicable.emplace(describe_fault(fault) + " at " + describe_rpc(rpc),
                                 needs(fault) == FaultNeeds::kHttp2
                                     ? "does not apply: it does not go over HTTP/2"
                                     : "does not apply: it is no gRPC call");
    }
    // A heartbeat comes when it likes: in a group of ESR it would make every execution differ.
    if (!known) {
      out.left_out.emplace(describe_rpc(rpc), "its cause is not known");
      continue;
    }
    const StableNames::Name name = names.of(rpc);
    if (!name.left_out.empty()) out.left_out.emplace(name.what, name.left_out);
    if (name.dropped) continue;
    search::ObservedRpc seen;
    seen.index = name.index;
    seen.parent = name.parent;
    auto outcome = outcomes->id(outcome_text(rpc, unstable.answer_varies(rpc)));
    if (!outcome) return outcome.error();
    seen.outcome = outcome.value();
    if (rpc.injected) seen.injected = seen.outcome;
    const bool faulted = name.left_out.empty();
    for (const FaultSpec& fault : faulted ? choice.faults : std::vector<FaultSpec>()) {
      auto id = outcomes->id(fault);
      if (!id) return id.error();
      seen.faults.push_back(id.value());
    }
    out.rpcs.push_back(std::move(seen));
  }
  return out;
}

RpcsById rpcs_by_id(const ExecutionRecord& record) {
  RpcsById out;
  for (const RpcRecord& rpc : record.rpcs) out.emplace(rpc.rpc, &rpc);
  return out;
}

InjectedFault describe_for_report(const RpcsById& rpcs, const RpcRecord& rpc) {
  InjectedFault out;
  out.index = rpc.index;
  out.caller = caller_of(rpc);
  out.service = rpc.service;
  out.method = rpc.method;
  out.path = path_of(rpc);
  out.grpc = rpc.is_grpc();
  out.arguments = rpc.arguments;
  out.stack = rpc.stack_text;
  if (!rpc.stack_text.empty()) out.call_site = rpc.stack_text.front();
  out.count = rpc.count;
  out.opens_connection = (rpc.flags & kRpcOpensConnection) != 0;
  out.connect_key = rpc.connect_key;
  out.signature = rpc.signature;
  out.parent = rpc.parent;
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

std::map<std::string, std::string> services_without_agent(const Config& config,
                                                          const ExecutionRecord& record) {
  std::map<std::string, std::string> found;
  for (const RpcRecord& rpc : record.rpcs) {
    if (rpc.injected || rpc.outcome != RpcOutcome::kAnswered || rpc.received_by == rpc.service)
      continue;
    const bool ours = std::any_of(
        config.services.begin(), config.services.end(), [&](const ServiceConfig& service) {
          return service.name == rpc.service && !service.third_party && !service.ignored;
        });
    if (!ours) continue;
    found.emplace(
        rpc.service,
        "service '" + rpc.service + "' answered " + describe_rpc(rpc) +
            ", but the process that did takes no part in the session" +
            (rpc.received_by.empty()
                 ? ""
                 : " (what it forwarded was received by '" + rpc.received_by + "')") +
            ": its own calls are not seen. Does it run as another user than this session, "
            "without LD_PRELOAD, or without libc's sockets?");
  }
  return found;
}

Result<void> KnownRpcs::learn_concurrent_sites(const ExecutionRecord& record) {
  std::unordered_map<Hash128, std::vector<const RpcRecord*>, Hash128Hasher> sites;
  for (const RpcRecord& rpc : record.rpcs) sites[site_of(rpc)].push_back(&rpc);
  for (const auto& [site, rpcs] : sites) {
    // In order of issue: with one of the neighbours it would be concurrent, if with any.
    bool concurrent = false;
    for (size_t i = 1; i < rpcs.size() && !concurrent; ++i) {
      concurrent = rpcs[i]->thread != rpcs[i - 1]->thread ||
                   rpcs[i - 1]->finished_ns == 0 || rpcs[i]->issued_ns < rpcs[i - 1]->finished_ns;
    }
    if (!concurrent || !concurrent_sites_.insert(site).second) continue;
    if (auto put = store_->set_meta("concurrent:" + to_hex(site), "1"); !put) return put;
  }
  return {};
}

Result<void> KnownRpcs::learn(const ExecutionRecord& record) {
  if (auto learned = learn_concurrent_sites(record); !learned) return learned;
  const RpcsById rpcs = rpcs_by_id(record);
  for (const RpcRecord& rpc : record.rpcs) {
    const auto found = rpcs_.find(rpc.index);
    bool concurrent = concurrent_sites_.contains(site_of(rpc));
    if (!concurrent && found == rpcs_.end()) {  // a resumed session may have noted it
      const auto stored = store_->meta("concurrent:" + to_hex(site_of(rpc)));
      concurrent = stored.ok() && stored.value().has_value();
      if (concurrent) concurrent_sites_.insert(site_of(rpc));
    }
    const bool opens = !concurrent && (rpc.flags & kRpcOpensConnection) != 0;
    if (found != rpcs_.end() && concurrent) {
      if (!found->second.opens_connection) continue;
    } else if (found != rpcs_.end()) {
      // An RPC that a connect of ours refused never had a connection: what is known stands.
      if (rpc.injected || (found->second.opens_connection == opens &&
                           found->second.connect_key == rpc.connect_key)) {
        continue;
      }
    }
    InjectedFault known = describe_for_report(rpcs, rpc);
    known.opens_connection = opens;
    Counterexample row;
    row.faults = {known};
    if (auto put = store_->set_meta("rpc:" + to_hex(rpc.index), to_json(row)); !put) return put;
    rpcs_.insert_or_assign(rpc.index, std::move(known));
  }
  return {};
}

const InjectedFault* KnownRpcs::find(Hash128 index) {
  const auto found = rpcs_.find(index);
  if (found != rpcs_.end()) return &found->second;
  const auto text = store_->meta("rpc:" + to_hex(index));
  if (!text || !text.value()) return nullptr;
  auto row = parse_counterexample(*text.value());
  if (!row || row->faults.empty()) return nullptr;
  return &rpcs_.emplace(index, row->faults.front()).first->second;
}

PlannedRpcFault plan_fault(const InjectedFault& rpc, const FaultSpec& fault) {
  PlannedRpcFault out;
  out.index = rpc.index;
  out.fault = fault;
  out.opens_connection = rpc.opens_connection;
  out.connect_key = rpc.connect_key;
  out.signature = rpc.signature;
  out.parent = rpc.parent;
  out.count = rpc.count;
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
