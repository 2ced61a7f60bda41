#include "daemon/observe/judgement.h"

#include <algorithm>
#include <unordered_map>

#include "daemon/observe/observation.h"
#include "daemon/retries/oracles.h"

namespace filibuster {
namespace {

// Shows the first ones only: a service that calls itself without end leaves thousands open.
template <typename Row, typename Text>
std::string join(const std::vector<Row>& rows, const Text& text_of) {
  constexpr size_t kShown = 10;
  std::string out;
  for (size_t i = 0; i < std::min(rows.size(), kShown); ++i) {
    out += (out.empty() ? "" : "; ") + text_of(rows[i]);
  }
  if (rows.size() > kShown) out += "; and " + std::to_string(rows.size() - kShown) + " more";
  return out;
}

// Of a plan that is not met.
void explain(const std::vector<NotInjected>& missing, Judgement* out) {
  out->plan_met = false;
  for (const NotInjected& one : missing) {
    out->cause = std::min(out->cause, one.why);
    out->not_issued = out->not_issued || one.why == NoConclusion::kNotIssued;
  }
  out->detail += (out->detail.empty() ? "" : "; ") + std::string("plan not met: ") +
                 join(missing, [](const NotInjected& one) { return one.text; });
}

// Planned faults that did not fire, with the hub's reasons. If the hub named none, the faults of which
// the record shows nothing.
std::vector<NotInjected> missing_faults(const ExecutionRecord& record,
                                        const std::vector<PlannedRpcFault>& plan) {
  std::vector<NotInjected> out = record.not_injected;
  if (!out.empty()) return out;
  for (const PlannedRpcFault& planned : plan) {
    const bool fired =
        std::any_of(record.rpcs.begin(), record.rpcs.end(), [&](const RpcRecord& rpc) {
          return (rpc.injected || rpc.attempt != 0) && rpc.index == planned.index;
        });
    if (!fired) {
      out.push_back(
          {NoConclusion::kNotIssued,
           to_text(planned.fault) + " at " + to_hex(planned.index) + ": the RPC was not issued"});
    }
  }
  return out;
}

std::string unseen_text(const std::vector<UnseenRecord>& unseen) {
  std::string attached, others;
  for (const UnseenRecord& row : unseen) {
    std::string& text = row.attached ? attached : others;
    text += text.empty() ? "" : row.attached ? ", " : "; ";
    text += row.attached ? row.service
                         : std::to_string(row.requests) + " of " + row.service + " to " +
                               (row.target_service.empty() ? row.peer : row.target_service);
  }
  if (others.empty())
    return "requests from or to " + attached +
           " were not seen, since they went over connections that were open before it was attached";
  return "requests went over HTTP/2 connections that were open before the session, and whose clients are being "
         "told to open new ones: " +
         others + (attached.empty() ? "" : "; from or to " + attached);
}

// What a server did twice for one call, although it must not, under a fault that let it; "": nothing.
std::string done_twice(const ExecutionRecord& record, const std::vector<PlannedRpcFault>& plan,
                       const std::vector<MutationRule>& mutations,
                       const retries::ActCounts& usual) {
  // Grouping the calls of each execution costs time, and only a sequence says what its server did.
  const bool any_sequence = std::any_of(plan.begin(), plan.end(), [](const PlannedRpcFault& row) {
    return row.fault.kind == FaultKind::kAttempts;
  });
  if (!any_sequence) return "";
  const auto groups = retries::group_attempts(record);
  auto repeated = retries::repeated_mutations(record, groups, mutations);
  retries::leave_out_usual(record, groups, mutations, usual, &repeated);
  return repeated.empty() ? "" : retries::repetition_text(record, repeated.front());
}

std::string waited_text(const RpcRecord& rpc) {
  return rpc.caller + ": " + to_text(rpc.hang_limit);
}

}  // namespace

bool is_settled(const ExecutionRecord& record) {
  return !record.names_changed && record.lost_events == 0 && record.unseen.empty();
}

bool uses_old_connections(const ExecutionRecord& record) {
  return std::any_of(record.unseen.begin(), record.unseen.end(),
                     [](const UnseenRecord& row) { return row.attached; });
}

void KeptConnections::settle_as_it_is(ExecutionRecord* record) {
  record->names_changed = false;
  for (const UnseenRecord& row : record->unseen) {
    if (row.attached) continue;
    kept_.emplace(row.service, row.peer);
    record->not_interposed.push_back({row.service, row.peer, row.target_service,
                                      std::string(reason_name(NotInterposedReason::kHttp2Before)),
                                      true, row.requests});
  }
  std::erase_if(record->unseen, [](const UnseenRecord& row) { return !row.attached; });
}

void KeptConnections::leave_out(ExecutionRecord* record) const {
  std::erase_if(record->unseen, [this](const UnseenRecord& row) {
    return kept_.contains({row.service, row.peer});
  });
}

bool is_by_time(Verdict verdict) {
  return verdict == Verdict::kTestTimeout || verdict == Verdict::kNoTimeout;
}

bool is_inconclusive(Verdict verdict) {
  return verdict == Verdict::kPlanNotMet || verdict == Verdict::kIncomplete;
}

std::string calls_without_end(const ExecutionRecord& record) {
  constexpr uint32_t kEndless = 100;   // levels: more than any application means to have
  constexpr uint32_t kLongestWay = 8;  // RPCs between two calls from one call site on a path
  struct Level {
    const RpcRecord* rpc;
    uint32_t depth;  // RPCs of this call site on its path
  };
  std::unordered_map<uint64_t, Level> levels;
  Level deepest{nullptr, kEndless};
  for (const RpcRecord& rpc : record.rpcs) {  // in order of issue: a parent comes before
    Level level{&rpc, 1};
    auto above = levels.find(rpc.parent_rpc);
    for (uint32_t i = 0; i < kLongestWay && above != levels.end(); ++i) {
      const RpcRecord& other = *above->second.rpc;
      if (other.caller == rpc.caller && other.service == rpc.service && other.stack == rpc.stack) {
        level.depth += above->second.depth;
        break;
      }
      above = levels.find(other.parent_rpc);
    }
    levels.emplace(rpc.rpc, level);
    if (level.depth > deepest.depth) deepest = level;
  }
  if (deepest.rpc == nullptr) return "";
  const RpcRecord& rpc = *deepest.rpc;
  return "service '" + rpc.caller + "' seems to call itself without end" +
         (rpc.service == rpc.caller ? "" : ", by way of '" + rpc.service + "'") + ": " +
         describe_rpc(rpc) + " is " + std::to_string(deepest.depth) + " levels deep, at " +
         (rpc.stack_text.empty() ? "a call site that is not known" : rpc.stack_text.front());
}

Judgement judge(const ExecutionResult& result, const std::vector<PlannedRpcFault>& plan,
                const std::vector<MutationRule>& mutations, const retries::ActCounts& usual) {
  const ExecutionRecord& record = result.record;
  if (record.lost_events > 0) {
    return {Verdict::kIncomplete,
            record.lost_why.empty() ? std::to_string(record.lost_events) + " events were lost"
                                    : record.lost_why,
            record.lost_cause};
  }
  if (record.names_changed) {
    return {Verdict::kIncomplete, "a service got its name during the execution"};
  }
  if (!record.unseen.empty())
    return {Verdict::kIncomplete, unseen_text(record.unseen), NoConclusion::kOpenBefore};
  const auto missing = missing_faults(record, plan);
  if (!result.ended.empty()) {
    std::string detail;
    for (const ServiceEnd& end : result.ended) {
      detail += (detail.empty() ? "" : "; ") + end.name + " " + end.how();
    }
    Judgement crashed{Verdict::kCrashed, detail};
    if (!missing.empty()) explain(missing, &crashed);
    return crashed;
  }
  if (!missing.empty()) {
    Judgement not_met{Verdict::kPlanNotMet, ""};
    explain(missing, &not_met);
    return not_met;
  }
  if (result.timed_out) {
    const auto text = [](double seconds) {
      return std::to_string(static_cast<int>(seconds)) + " s";
    };
    const bool busy = result.seconds > 2 * result.limit_seconds;
    return {Verdict::kTestTimeout,
            "the test did not end within " + text(result.limit_seconds) +
                (busy ? " (" + text(result.seconds) + " on this busy machine)" : std::string())};
  }
  if (result.exit && !result.exit->success()) {
    std::string detail = to_text(*result.exit);
    for (const RpcRecord& rpc : record.rpcs) {
      if (rpc.hang_limit.was_still_open()) detail += "; " + waited_text(rpc);
    }
    return {Verdict::kFailed, std::move(detail)};
  }
  for (const RpcRecord& rpc : record.rpcs) {
    // The test passed only because the daemon ended the silence.
    if (rpc.hang_limit.waited_on()) return {Verdict::kNoTimeout, waited_text(rpc)};
  }
  if (std::string twice = done_twice(record, plan, mutations, usual); !twice.empty())
    return {Verdict::kDoneTwice, std::move(twice)};
  if (!record.quiescent) {
    return {Verdict::kNotQuiescent,
            "still open: " + join(record.still_open, [](const std::string& text) { return text; })};
  }
  return {};
}

}  // namespace filibuster
