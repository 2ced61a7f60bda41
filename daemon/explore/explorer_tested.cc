// What an exploration tested, and how: RPCs with and without faults, injected timeouts.
#include <algorithm>
#include <iterator>

#include "daemon/agents/caller.h"
#include "daemon/explore/explorer.h"
#include "daemon/report/tested.h"

namespace filibuster {
namespace {

// True for a connection that carries RPCs and could not be followed. A connection of another protocol
// is left out, since it need not carry RPCs (a database's client, or a Redis that is not declared).
bool hides_rpcs(const NotInterposedRecord& row) {
  constexpr NotInterposedReason kReasons[] = {
      NotInterposedReason::kTls,         NotInterposedReason::kMidStream,
      NotInterposedReason::kTableFull,   NotInterposedReason::kHttp2,
      NotInterposedReason::kHttp2Before, NotInterposedReason::kForeignDescriptor};
  return row.outgoing && row.service != kTestService &&
         std::any_of(std::begin(kReasons), std::end(kReasons),
                     [&](NotInterposedReason reason) { return row.reason == reason_name(reason); });
}

}  // namespace

Result<void> Explorer::load_tested() {
  auto rpcs = store_->saved(Saved::kRpcs);
  if (!rpcs) return rpcs.error();
  if (rpcs.value()) ledger_.add_json(*rpcs.value());
  auto timeouts = store_->saved(Saved::kTimeouts);
  if (!timeouts) return timeouts.error();
  if (timeouts.value()) timeouts_.add_json(*timeouts.value());
  auto given_up = store_->saved(Saved::kGivenUp);
  if (!given_up) return given_up.error();
  if (given_up.value()) given_up_.add_json(*given_up.value());
  return {};
}

// Called for the reference execution, and for every execution whose plan was met.
Result<void> Explorer::note_tested(const Observation& seen, const ExecutionRecord& record) {
  // A fault may cut a request short. If the reference execution shows that RPC whole, it gets its faults
  // there and is not left out.
  const auto cut_here = [&](const std::string& rpc) {
    const std::vector<RpcRecord>& reference = exploration_.report.reference;
    return std::any_of(reference.begin(), reference.end(), [&](const RpcRecord& known) {
      return (known.flags & kRpcPreliminary) == 0 && describe_rpc(known, masks_) == rpc;
    });
  };
  bool any_new = ledger_.see(seen.faulted, seen.by_configuration);
  for (const auto& [rpc, reason] : seen.left_out) {
    if (reason == kStayedPreliminary && cut_here(rpc)) continue;
    if (left_out_.size() >= RpcLedger::kMaxRpcs) break;
    if (!left_out_.emplace(rpc, reason).second) continue;
    ledger_.leave_out(rpc, reason);
    any_new = true;
  }
  not_applicable_.insert(seen.not_applicable.begin(), seen.not_applicable.end());
  for (const RpcRecord& rpc : record.rpcs) {
    // The first attempt of a sequence may pass, as the sequence says.
    if (rpc.injected || rpc.attempt == 1)
      any_new = ledger_.injected(describe_rpc(rpc, masks_)) || any_new;
  }
  if (any_new) {
    if (auto set = store_->save(Saved::kRpcs, ledger_.to_json()); !set) return set;
  }
  if (given_up_.see(record)) {
    if (auto set = store_->save(Saved::kGivenUp, given_up_.to_json()); !set) return set;
  }
  if (!timeouts_.see(record)) return {};
  return store_->save(Saved::kTimeouts, timeouts_.to_json());
}

TestedRpcs Explorer::tested_rpcs() {
  const TestReport& report = exploration_.report;
  const BoundsConfig& bounds = config_.bounds;
  const bool bounded = report.counts.beyond_bound > 0 || bounds.stop_at_first || report.time_over;
  const bool decided = report.counts.open == 0 && report.counts.abandoned == 0;
  using Rest = RpcLedger::Rest;
  const Rest rest = decided && report.counts.beyond_bound == 0 ? Rest::kNone
                    : exploration_.stopped                     ? Rest::kInterrupted
                    : bounded                                  ? Rest::kBound
                                                               : Rest::kNoConclusion;
  // An RPC that the ledger knows was late in some executions only, and was seen in time in others.
  for (const std::string& call : late_calls_) {
    if (!ledger_.knows(call)) ledger_.leave_out(call, std::string(kLateCall));
  }
  for (const auto& [key, row] : dependencies_) {
    const auto target = std::find_if(config_.services.begin(), config_.services.end(),
                                     [&wanted = row.target_service](const ServiceConfig& service) {
                                       return service.name == wanted;
                                     });
    if (target == config_.services.end() || target->third_party || target->ignored ||
        !hides_rpcs(row)) {
      continue;
    }
    ledger_.leave_out(row.service + " -> " + row.target_service + " (all RPCs of a connection)",
                      "not interposed: " + row.reason);
  }
  return ledger_.result(rest);
}

}  // namespace filibuster
