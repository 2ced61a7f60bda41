#include "daemon/explore/kept_state.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "daemon/model/caller.h"
#include "daemon/observe/nondeterminism.h"
#include "daemon/observe/observation.h"
#include "daemon/report/call_site_text.h"
#include "daemon/report/words.h"

namespace filibuster {
namespace {

constexpr size_t kShown = 5;  // calls in the warning; the report has all of them

const ServiceConfig* find_service(const Config& config, const std::string& name) {
  const auto found = std::find_if(config.services.begin(), config.services.end(),
                                  [&](const ServiceConfig& one) { return one.name == name; });
  return found == config.services.end() ? nullptr : &*found;
}

// Those that the session starts, whose data is nobody else's.
std::vector<const ServiceConfig*> redis_servers(const Records& runs, const Config& config) {
  std::set<std::string> undeclared;
  for (const ExecutionRecord* run : runs) {
    for (const NotInterposedRecord& row : run->not_interposed) {
      if (row.reason == reason_name(NotInterposedReason::kRedis))
        undeclared.insert(row.target_service);
    }
  }
  std::vector<const ServiceConfig*> out;
  for (const ServiceConfig& one : config.services) {
    const bool speaks_redis = one.protocol == Protocol::kRedis || undeclared.contains(one.name);
    if (speaks_redis && !one.command.empty() && !one.ports.empty()) out.push_back(&one);
  }
  return out;
}

std::string hook_member(const Config& config, const std::string& command) {
  const std::vector<std::string>& own = config.hooks.before_execution.argv;
  const bool is_text = own.size() == 3 && own[0] == "/bin/sh" && own[1] == "-c";
  const std::string all = is_text ? own[2] + " && " + command : command;
  const std::string member =
      nlohmann::json(all).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return (!own.empty() && !is_text ? "(beside the command that it has)\n" : "") +
         std::string("\"hooks\": {\"before_execution\": ") + member + "}\n";
}

// Lines that end with a newline; what can be pasted has a line of its own.
std::string remedy(const std::vector<CallOfSome>& calls, const Records& runs,
                   const Config& config) {
  std::string flush, keepers;
  for (const ServiceConfig* server : redis_servers(runs, config))
    flush += (flush.empty() ? "redis-cli -p ${port:" : " && redis-cli -p ${port:") +
             server->ports.begin()->first + "} flushall";
  std::set<std::string> callers;
  for (const CallOfSome& call : calls) {
    const ServiceConfig* caller = find_service(config, call.caller);
    if (caller != nullptr && !caller->command.empty() &&
        caller->restart != ServiceConfig::Restart::kEach)
      callers.insert(call.caller);
  }
  for (const std::string& caller : callers) keepers += (keepers.empty() ? "" : ", ") + caller;
  const std::string restart =
      keepers.empty() ? "" : "in the row of " + keepers + ":\n\"restart\": \"each\"\n";
  if (!flush.empty()) {
    return hook_member(config, flush) +
           (restart.empty() ? "" : "Or, where the service itself keeps it, " + restart);
  }
  return restart +
         (restart.empty() ? "" : "Or, where a store keeps it, with what empties that:\n") +
         hook_member(config, "COMMAND");
}

}  // namespace

std::vector<CallOfSome> calls_of_some(const Records& runs, const Config& config,
                                      const std::vector<NondeterminismRule>& masks,
                                      const UnstableRpcs& unstable) {
  std::map<std::string, CallOfSome> calls;
  for (size_t run = 0; run < runs.size(); ++run) {
    const RpcsById rpcs = rpcs_by_id(*runs[run]);
    for (const RpcRecord& rpc : runs[run]->rpcs) {
      if ((rpc.flags & kRpcLate) != 0 || is_test_call(rpc) || !root_is_known(rpcs, rpc)) continue;
      const UnstableKind* kind = unstable.find(rpc);
      if (kind != nullptr && !kind->sometimes) continue;
      const FaultChoice choice = choose_faults(config, rpc, true);
      if (choice.faults.empty()) continue;
      CallOfSome& call = calls[describe_rpc(rpc, masks)];
      call.caller = rpc.caller;
      if (call.call_site.empty() && !rpc.stack_text.empty())
        call.call_site = rpc.stack_text.front();
      call.in_runs.insert(run);
    }
  }
  std::vector<CallOfSome> out;
  for (auto& [rpc, call] : calls) {
    if (call.in_runs.size() == runs.size()) continue;
    call.rpc = rpc;
    out.push_back(std::move(call));
  }
  return out;
}

std::string why_not_planned(const CallOfSome& call, size_t runs) {
  return seen_in(call.in_runs.size(), runs) +
         " without faults: " + std::string(why_sometimes(call.in_runs, runs));
}

std::string kept_state_warning(const std::vector<CallOfSome>& calls, const Records& runs,
                               const Config& config) {
  std::string out =
      counted(calls.size(), "call was", "calls were") + " made in some of the " +
      std::to_string(runs.size()) +
      " executions without faults and not in the others, so something is kept from one "
      "execution to the next (a cache?), and no fault can be planned for " +
      (calls.size() == 1 ? "it" : "them") + ":\n";
  for (size_t i = 0; i < std::min(calls.size(), kShown); ++i) {
    const CallOfSome& call = calls[i];
    out += "  " + call.rpc +
           (call.call_site.empty() ? "" : ", at " + call_site_text(call.call_site)) + ": " +
           why_not_planned(call, runs.size()) + "\n";
  }
  if (calls.size() > kShown)
    out += "  and " + std::to_string(calls.size() - kShown) + " more (all are in the report)\n";
  return out + "To test " + (calls.size() == 1 ? "it" : "them") +
         ", let each execution begin with the same state, by a member of the configuration:\n" +
         remedy(calls, runs, config);
}

std::string kept_state_note(const std::vector<CallOfSome>& calls, const Records& runs,
                            const Config& config) {
  std::string out =
      std::string(kComeInSome) +
      "let each execution begin with the same state, by a member of the configuration:\n" +
      remedy(calls, runs, config);
  out.pop_back();
  return out;
}

}  // namespace filibuster
