#include "daemon/explore/evidence.h"

#include <algorithm>
#include <iterator>

#include "daemon/lane/application.h"
#include "daemon/lane/programs_outside.h"
#include "daemon/model/caller.h"
#include "daemon/observe/silent_services.h"
#include "daemon/redact/redact.h"
#include "daemon/report/dependency.h"

namespace filibuster {
namespace {

using search::Saved;

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

// An encrypted connection whose requests are all known, as those of Go are: they are tested like others.
bool is_known_by_requests(const NotInterposedRecord& row, const std::vector<RpcRecord>& reference) {
  if (row.reason != reason_name(NotInterposedReason::kSealed)) return false;
  bool some = false, all = true;
  for (const RpcRecord& rpc : reference) {
    if (!rpc.is_sealed() || rpc.caller != row.service || rpc.service != row.target_service)
      continue;
    some = true;
    all = all && !rpc.target.empty();  // a connection has a call of its own, and no target
  }
  return some && all;
}

}  // namespace

Evidence::Evidence(const SessionContext* session, const Lane* lane)
    : session_(*session), lane_(*lane), rule_use_(session->config) {
  add_obstacles(lane->obstacles());
}

Result<void> Evidence::load() {
  const auto read = [this](Saved which, auto* collected) -> Result<void> {
    auto text = store_->saved(which);
    if (!text) return text.error();
    if (text.value()) collected->add_json(*text.value());
    return {};
  };
  for (auto loaded : {read(Saved::kObserved, &observed_), read(Saved::kRpcs, &ledger_),
                      read(Saved::kTimeouts, &timeouts_), read(Saved::kGivenUp, &given_up_),
                      read(Saved::kRefusals, &refusals_)}) {
    if (!loaded) return loaded;
  }
  return {};
}

void Evidence::clear() {
  left_out_.clear();
  not_applicable_.clear();
  observed_ = {};
  ledger_ = {};
  timeouts_ = {};
  refusals_ = {};
  given_up_ = {};
}

void Evidence::add_obstacles(const std::vector<std::string>& lines) {
  obstacles_.insert(obstacles_.end(), lines.begin(), lines.end());
}

bool Evidence::names_obstacle(std::string_view text) const {
  return std::any_of(obstacles_.begin(), obstacles_.end(), [&](const std::string& known) {
    return known.find(text) != std::string::npos;
  });
}

bool Evidence::has_note_beginning(const std::string& text) const {
  const auto first = notes_.lower_bound(text);
  return first != notes_.end() && first->starts_with(text);
}

void Evidence::see_calls_without_end(const ExecutionRecord& record) {
  if (calls_without_end_) return;
  const std::string text = calls_without_end(record);
  if (text.empty()) return;
  calls_without_end_ = true;
  warn_and_note(text);
}

void Evidence::see_services_without_agent(const ExecutionRecord& record) {
  const auto found = services_without_agent(session_.config, record, lane_.hub().agents());
  if (found.empty()) return;
  if (const std::string text = beside_others(lane_.hub().others()); !text.empty() && note(text))
    session_.warn(text);
  for (const auto& [service, text] : found) {
    // What executed its program has named it, too (ConnectedAgents::name_outside).
    if (names_obstacle("'" + service + "'") ||
        has_note_beginning("service '" + service + "' starts "))
      continue;
    warn_and_note(text + listener_outside(attach::Proc(), session_.config, lane_.place(), service));
  }
}

void Evidence::warn_and_note(const std::string& text) {
  session_.warn(text);
  note(text);
}

void Evidence::see(const ExecutionResult& result) {
  const ExecutionRecord& record = result.record;
  rule_use_.see(record);
  for (const ServiceEnd& end : result.ended_before) {
    warn_and_note("service '" + end.name + "' " + end.how() +
                  " while no execution ran, before execution " + std::to_string(record.execution) +
                  ": this may be a late effect of an earlier execution's faults");
  }
  for (const std::string& problem : record.runtime_problems) {
    if (note(problem)) session_.warn(problem);
  }
  damaged_fields_ += record.damaged_fields;
  for (const std::string& text : record.notes) note(text);
  for (const std::string& late : record.late) note("late: " + late);
  late_calls_.insert(record.late_calls.begin(), record.late_calls.end());
  for (const NotInterposedRecord& row : record.not_interposed) {
    const std::string key = row.service + "|" + row.peer + "|" + row.target_service + "|" +
                            row.reason + (row.outgoing ? "|out" : "|in");
    const auto [position, inserted] = dependencies_.emplace(key, row);
    if (!inserted) position->second.times += row.times;
  }
}

Result<void> Evidence::see_met(const Observation& seen, const ExecutionRecord& record,
                               const std::vector<NondeterminismRule>& masks,
                               const std::vector<RpcRecord>& reference) {
  // A fault may cut a request short. If the reference execution shows that RPC whole, it gets its faults
  // there and is not left out.
  const auto cut_here = [&](const std::string& rpc) {
    return std::any_of(reference.begin(), reference.end(), [&](const RpcRecord& known) {
      return (known.flags & kRpcPreliminary) == 0 && describe_rpc(known, masks) == rpc;
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
      any_new = ledger_.injected(describe_rpc(rpc, masks)) || any_new;
  }
  const auto keep = [this](bool is_new, Saved which, const auto& collected) -> Result<void> {
    return is_new ? store_->save(which, collected.to_json()) : Result<void>();
  };
  if (auto kept = keep(any_new, Saved::kRpcs, ledger_); !kept) return kept;
  if (auto kept = keep(given_up_.see(record), Saved::kGivenUp, given_up_); !kept) return kept;
  if (auto kept = keep(timeouts_.see(record), Saved::kTimeouts, timeouts_); !kept) return kept;
  if (auto kept = keep(refusals_.see(record), Saved::kRefusals, refusals_); !kept) return kept;
  return keep(observed_.see(record), Saved::kObserved, observed_);
}

void Evidence::comes_again(const std::string& rpc) {
  left_out_.erase(rpc);
  ledger_.forget(redact(rpc));
}

Result<void> Evidence::came_once(const std::string& rpc, const std::string& reason) {
  ledger_.came_once(rpc, reason);
  return store_->save(Saved::kRpcs, ledger_.to_json());
}

std::string Evidence::no_rpc_hint() const {
  std::string out;
  for (const std::string& text : obstacles_) out += "\n  - " + text;
  for (const auto& [key, row] : dependencies_) {
    out += "\n  - not interposed: " + row.service + (row.outgoing ? " -> " : " <- ") +
           (row.target_service.empty() ? row.peer : row.target_service) + ": " + reason_text(row);
  }
  if (out.empty() && std::ranges::any_of(session_.config.services, &ServiceConfig::is_attached)) {
    out =
        "\n  - is the test's first request one to an attached service, at a port that it listened at when the session began?"
        "\n  - do they speak HTTP/1.1, HTTP/2 or gRPC over TCP, in the clear, or TLS as clients?";
  } else if (out.empty()) {
    out =
        "\n  - do the services and the test speak HTTP/1.1, HTTP/2 or gRPC over TCP, or "
        "Redis that is declared (\"protocol\": \"redis\")? Of TLS, that of OpenSSL, GnuTLS and the JDK is read"
        "\n  - are the programs statically linked, written in Go, or started by something that "
        "clears the environment (LD_PRELOAD)?";
  }
  return out;
}

TestedRpcs Evidence::tested(RpcLedger::Rest rest) {
  // An RPC that the ledger knows was late in some executions only, and was seen in time in others.
  for (const std::string& call : late_calls_) {
    if (!ledger_.knows(call)) ledger_.leave_out(call, std::string(kLateCall));
  }
  const std::vector<ServiceConfig>& services = session_.config.services;
  for (const auto& [key, row] : dependencies_) {
    const auto target = std::find_if(services.begin(), services.end(),
                                     [&wanted = row.target_service](const ServiceConfig& service) {
                                       return service.name == wanted;
                                     });
    if (target == services.end() || target->third_party || target->ignored || !hides_rpcs(row))
      continue;
    ledger_.leave_out(row.service + " -> " + row.target_service + " (all RPCs of a connection)",
                      "not interposed: " + row.reason);
  }
  return ledger_.result(rest);
}

void Evidence::note_unmatched_rules() {
  for (std::string& line : rule_use_.unmatched()) note(std::move(line));
}

void Evidence::tell(TestReport* report) {
  for (const auto& [what, reason] : not_applicable_) report->skipped.push_back({what, reason});
  for (const auto& [rpc, reason] : left_out_) report->without_cause.push_back(rpc + ": " + reason);
  for (const auto& [rpc, reason] : ledger_.only_once()) {
    if (!left_out_.contains(rpc)) report->without_cause.push_back(rpc + ": " + reason);
  }
  for (const std::string& call : late_calls_) {
    const bool in_time =
        std::any_of(report->reference.begin(), report->reference.end(),
                    [&](const RpcRecord& rpc) { return describe_rpc(rpc) == call; });
    if (in_time) {
      note("late: " + call +
           ": in some executions it was made after their end, and got no fault there");
    } else if (!left_out_.contains(call)) {
      report->without_cause.push_back(call + ": " + std::string(kLateCall));
    }
  }
  report->timeouts = timeouts_.all();
  report->observed = observed_.all();
  report->refusals = refusals_.all();
  for (const Refusals& client : report->refusals) {
    if (!client.never_refused.empty()) note(to_note(client));
  }
  for (std::string& text : given_up_.notes()) note(std::move(text));
  if (observed_.full()) {
    note("services answered with errors in more than " + std::to_string(ObservedAnswers::kMax) +
         " ways: 'observed' has the first ones");
  }
  if (ledger_.full()) {
    note("more than " + std::to_string(RpcLedger::kMaxRpcs) +
         " RPCs with names of their own: 'rpcs' has the first ones (masks of "
         "`nondeterminism` leave out of a path what varies)");
  }
  for (const auto& [key, row] : dependencies_) {
    if (!is_known_by_requests(row, report->reference))
      report->dependencies_not_tested.push_back(row);
  }
  report->damaged_fields = damaged_fields_;
}

std::vector<std::string> Evidence::notes() const {
  std::vector<std::string> out = obstacles_;
  const std::vector<std::string>& ports = lane_.place().port_notes;
  out.insert(out.end(), ports.begin(), ports.end());
  out.insert(out.end(), notes_.begin(), notes_.end());
  return out;
}

}  // namespace filibuster
