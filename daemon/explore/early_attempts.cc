#include "daemon/explore/early_attempts.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/fault/attempts.h"
#include "daemon/process/session_lane.h"

namespace filibuster {
namespace {

using nlohmann::json;
using search::AbstractExecution;
using search::ObservedRpc;
using search::PlannedFault;
using search::Saved;

bool are_same_set(const std::vector<PlannedFault>& a, const std::vector<PlannedFault>& b) {
  return a.size() == b.size() && std::is_permutation(a.begin(), a.end(), b.begin());
}

json to_json(const std::vector<PlannedFault>& faults) {
  json out = json::array();
  for (const PlannedFault& one : faults) out.push_back({to_hex(one.index), one.fault});
  return out;
}

json to_json(const std::vector<ObservedRpc>& rpcs) {
  json out = json::array();
  for (const ObservedRpc& one : rpcs)
    out.push_back({to_hex(one.index), to_hex(one.parent), one.outcome, one.injected, one.faults});
  return out;
}

Hash128 hash_of(const json& text) {
  Hash128 out;
  if (!from_hex(text.get<std::string>(), &out)) throw std::invalid_argument("not a hash");
  return out;
}

std::vector<PlannedFault> faults_from(const json& rows) {
  std::vector<PlannedFault> out;
  for (const json& row : rows)
    out.push_back({hash_of(row.at(0)), row.at(1).get<search::OutcomeId>()});
  return out;
}

std::vector<ObservedRpc> rpcs_from(const json& rows) {
  std::vector<ObservedRpc> out;
  for (const json& row : rows)
    out.push_back({hash_of(row.at(0)), hash_of(row.at(1)), row.at(2).get<search::OutcomeId>(),
                   row.at(3).get<search::OutcomeId>(),
                   row.at(4).get<std::vector<search::OutcomeId>>()});
  return out;
}

}  // namespace

// An item cannot be a fault of the connection. Where the server acts at each attempt, or a changed answer of it passes, a sequence is
// judged by more than its set of faults is.
bool EarlyAttempts::can_be_repeated(const FaultSpec& fault) {
  return why_no_sequence({{{fault, {1, 0, 1}}}}).empty() && !fault.after_effect &&
         fault.at_message == 0 && !changes_answer(fault);
}

FaultSpec EarlyAttempts::at_each_attempt(const FaultSpec& fault) {
  return make_attempts({{{fault, {1, 0, 1}}}});
}

Result<void> EarlyAttempts::load() {
  auto text = store_->saved(Saved::kEarlyAttempts);
  if (!text) return text.error();
  if (!text.value()) return {};
  try {
    const json saved = json::parse(*text.value());
    sites_ = saved.at("sites").get<std::set<uint64_t>>();
    waiting_ = faults_from(saved.at("waiting"));
    next_id_ = saved.at("next_id");
    for (const json& row : saved.at("ahead"))
      ahead_.push_back({row.at("id"), faults_from(row.at("faults")), rpcs_from(row.at("rpcs"))});
  } catch (const std::exception& failure) {
    return Error{"the store of this session is damaged (attempts that were executed early: " +
                 std::string(failure.what()) + "); begin anew with --restart-session"};
  }
  return {};
}

Result<void> EarlyAttempts::save() {
  json ahead = json::array();
  for (const Ahead& one : ahead_)
    ahead.push_back({{"id", one.id}, {"faults", to_json(one.faults)}, {"rpcs", to_json(one.rpcs)}});
  return store_->save(Saved::kEarlyAttempts, dump_json({{"sites", sites_},
                                                        {"waiting", to_json(waiting_)},
                                                        {"next_id", next_id_},
                                                        {"ahead", std::move(ahead)}}));
}

Result<void> EarlyAttempts::clear() {
  sites_.clear();
  waiting_.clear();
  ahead_.clear();
  return save();
}

Result<void> EarlyAttempts::add(const PlannedFault& first, uint64_t site) {
  if (site == 0 || !sites_.insert(site).second) return {};
  waiting_.push_back(first);
  return save();
}

std::optional<AbstractExecution> EarlyAttempts::next() const {
  if (waiting_.empty()) return std::nullopt;
  return AbstractExecution{next_id_, search::kReference, {waiting_.front()}};
}

Result<void> EarlyAttempts::conclude(std::vector<PlannedFault> faults,
                                     std::span<const ObservedRpc> rpcs) {
  waiting_.erase(waiting_.begin());
  if (!faults.empty()) {
    ahead_.push_back({next_id_++, std::move(faults), {rpcs.begin(), rpcs.end()}});
  }
  return save();
}

Result<std::optional<EarlyAttempts::Ahead>> EarlyAttempts::take(
    const std::vector<PlannedFault>& faults) {
  std::optional<Ahead> out;
  const auto found = std::find_if(ahead_.begin(), ahead_.end(), [&](const Ahead& one) {
    return are_same_set(one.faults, faults);
  });
  if (found == ahead_.end()) return out;
  out = std::move(*found);
  ahead_.erase(found);
  if (auto saved = save(); !saved) return saved.error();
  return out;
}

}  // namespace filibuster
