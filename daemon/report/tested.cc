#include "daemon/report/tested.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/redact/redact.h"

namespace filibuster {
namespace {

using Json = nlohmann::ordered_json;

std::string rpc_count(size_t number) {
  return std::to_string(number) + (number == 1 ? " RPC" : " RPCs");
}

// The reasons, the most frequent first. If there are many, only the first are named. What stands behind a colon is for the list
// of these RPCs.
std::string reasons_text(const std::map<std::string, std::string>& untested) {
  constexpr size_t kShown = 3;
  std::map<std::string, size_t> times;
  for (const auto& [rpc, reason] : untested) ++times[reason.substr(0, reason.find(": "))];
  if (times.size() == 1) return times.begin()->first;
  std::vector<std::pair<size_t, std::string>> most;
  for (const auto& [reason, number] : times) most.emplace_back(number, reason);
  std::stable_sort(most.begin(), most.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string out;
  for (size_t i = 0; i < most.size() && i < kShown; ++i) {
    out += (i == 0 ? "" : "; ") + std::to_string(most[i].first) + ": " + most[i].second;
  }
  return out + (most.size() > kShown ? "; and other reasons" : "");
}

}  // namespace

std::string to_line(const TestedRpcs& rpcs) {
  std::string out = rpc_count(rpcs.tested.size()) + " tested";
  if (!rpcs.untested.empty()) {
    out +=
        ", " + std::to_string(rpcs.untested.size()) + " not (" + reasons_text(rpcs.untested) + ")";
  }
  const size_t left_out = rpcs.by_configuration.size() - rpcs.by_bound.size();
  if (left_out > 0) out += ", " + std::to_string(left_out) + " left out by the configuration";
  if (!rpcs.by_bound.empty())
    out +=
        ", " + std::to_string(rpcs.by_bound.size()) + " not reached within the time or the bounds";
  return out;
}

bool RpcLedger::Names::add(const std::string& rpc, std::set<std::string>* to) {
  if (to->size() >= kMaxRpcs || seen.contains(rpc)) return false;
  if (seen.size() < kMaxRpcs) seen.insert(rpc);
  return to->insert(redact(rpc)).second;
}

bool RpcLedger::see(const std::set<std::string>& faulted,
                    const std::set<std::string>& by_configuration) {
  bool any = false;
  for (const std::string& rpc : faulted) any |= faulted_names_.add(rpc, &faulted_);
  for (const std::string& rpc : by_configuration)
    any |= configured_names_.add(rpc, &by_configuration_);
  return any;
}

void RpcLedger::leave_out(const std::string& rpc, const std::string& reason) {
  if (left_out_.size() < kMaxRpcs) left_out_.emplace(redact(rpc), redact(reason));
}

void RpcLedger::came_once(const std::string& rpc, const std::string& reason) {
  if (once_.size() < kMaxRpcs) once_.emplace(redact(rpc), redact(reason));
}

std::map<std::string, std::string> RpcLedger::only_once() const {
  std::map<std::string, std::string> out = once_;
  std::erase_if(out, [this](const auto& row) {
    return faulted_.contains(row.first) || left_out_.contains(row.first) ||
           by_configuration_.contains(row.first);
  });
  return out;
}

bool RpcLedger::full() const {
  return std::max({faulted_.size(), injected_.size(), by_configuration_.size(),
                   left_out_.size()}) >= kMaxRpcs;
}

bool RpcLedger::injected(const std::string& rpc) {
  return injected_names_.add(rpc, &injected_);
}

bool RpcLedger::unconcluded(const std::string& rpc) {
  return unconcluded_names_.add(rpc, &unconcluded_);
}

void RpcLedger::did_not_come(const std::string& rpc) {
  if (did_not_come_.size() < kMaxRpcs) did_not_come_.insert(redact(rpc));
}

bool RpcLedger::knows(const std::string& rpc) const {
  const std::string name = redact(rpc);
  return faulted_.contains(name) || left_out_.contains(name) || by_configuration_.contains(name);
}

bool RpcLedger::gets_faults(const std::string& rpc) const {
  return faulted_.contains(redact(rpc));
}

TestedRpcs RpcLedger::result(Rest rest) const {
  TestedRpcs out;
  out.tested = injected_;
  out.by_configuration = by_configuration_;
  for (const std::string& rpc : faulted_) {
    if (did_not_come_.contains(rpc) && !injected_.contains(rpc)) {
      out.untested.emplace(rpc, "it comes in some executions only, and came in none with a fault");
    } else if (rest == Rest::kNone) {
      out.tested.insert(rpc);
    } else if (injected_.contains(rpc)) {
      continue;
    } else if (rest == Rest::kBound && !unconcluded_.contains(rpc)) {
      if (out.by_configuration.insert(rpc).second) out.by_bound.insert(rpc);
    } else if (rest == Rest::kInterrupted) {
      out.untested.emplace(rpc, kInterruptedBefore);
    } else {
      out.untested.emplace(rpc, kNoConclusionThere);
    }
  }
  for (const auto& [rpc, reason] : left_out_) {
    // Other reasons do not count where the configuration wants no fault.
    if (!by_configuration_.contains(rpc)) out.untested.insert_or_assign(rpc, reason);
  }
  out.untested.merge(only_once());
  return out;
}

std::string RpcLedger::to_json() const {
  return Json{{"faulted", faulted_},
              {"injected", injected_},
              {"unconcluded", unconcluded_},
              {"by_configuration", by_configuration_},
              {"did_not_come", did_not_come_},
              {"left_out", left_out_},
              {"once", once_}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

void RpcLedger::add_json(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return;
  const auto add = [&](const char* name, std::set<std::string>* out) {
    const auto at = json.find(name);
    if (at == json.end() || !at->is_array()) return;
    for (const Json& rpc : *at) {
      if (rpc.is_string()) out->insert(rpc.get<std::string>());
    }
  };
  add("faulted", &faulted_);
  add("injected", &injected_);
  add("unconcluded", &unconcluded_);
  add("by_configuration", &by_configuration_);
  add("did_not_come", &did_not_come_);
  const auto add_reasons = [&](const char* name, std::map<std::string, std::string>* out) {
    const auto at = json.find(name);
    if (at == json.end() || !at->is_object()) return;
    for (const auto& [rpc, reason] : at->items()) {
      if (reason.is_string()) out->emplace(rpc, reason.get<std::string>());
    }
  };
  add_reasons("left_out", &left_out_);
  add_reasons("once", &once_);
}

}  // namespace filibuster
