#include "daemon/explore/dispatcher.h"

#include <algorithm>
#include <cstdlib>
#include <set>

namespace filibuster {

namespace {

// 0: not known. A helper through which all calls of a program go is a site for each service.
uint64_t call_site_of(const InjectedFault* rpc) {
  if (rpc == nullptr) return 0;
  Hash128 out = combine(hash_text(rpc->caller), hash_text(rpc->service));
  out = rpc->call_site.empty() ? combine(out, rpc->stack_hash)
                               : combine(out, hash_text(rpc->call_site));
  return out.lo | 1;
}

}  // namespace

Dispatcher::Dispatcher(const Config& config, std::optional<Clock::time_point> deadline,
                       const Suspects& suspects, search::SearchStore* store)
    : config_(config),
      deadline_(deadline),
      suspects_(suspects),
      store_(store),
      outcomes_(store),
      known_(store),
      early_(store) {}

Result<std::unique_ptr<Dispatcher>> Dispatcher::open(const Config& config,
                                                     std::optional<Clock::time_point> deadline,
                                                     const Suspects& suspects,
                                                     search::SearchStore* store) {
  std::unique_ptr<Dispatcher> out(new Dispatcher(config, deadline, suspects, store));
  if (auto added = out->outcomes_.add_faults(config); !added) return added.error();
  if (auto loaded = out->early_.load(); !loaded) return loaded.error();
  auto resumed = search::Search::resume(out->options(), store);
  if (!resumed) return resumed.error();
  out->search_.emplace(std::move(resumed).value());
  out->places_.see(*out->search_, &out->known_);
  return out;
}

// FILIBUSTER_BREAK_SEARCH_ORDER shows that the tests of counts can fail. FILIBUSTER_TELL_APART_BY_PLACE is
// for the reproduction of Table 7.1 (docs/execution-indexes.md).
search::SearchOptions Dispatcher::options() {
  search::SearchOptions options;
  options.reduce = config_.reduce != Reduction::kOff;
  options.execute_single_faults = config_.reduce == Reduction::kSound;
  if (config_.reduce == Reduction::kPublished) {
    options.taken_as = [store = store_](search::OutcomeId outcome) {
      const auto as = store->outcome(status_alone(store->outcome_text(outcome)));
      return as ? as.value() : outcome;  // a failure of the store is told by its health()
    };
  }
  options.max_executions = config_.bounds.max_executions;
  options.max_faults = config_.bounds.max_faults;
  // The published prototype explores depth first.
  if (config_.reduce != Reduction::kPublished)
    options.standing = [this](std::span<const search::PlannedFault> faults) {
      return search::Standing{suspects_.empty() ? 0 : rank_of(faults), site_of(faults)};
    };
  options.explore_first_scheduled_first = getenv("FILIBUSTER_BREAK_SEARCH_ORDER") != nullptr;
  options.tell_apart_by_place = getenv("FILIBUSTER_TELL_APART_BY_PLACE") != nullptr;
  return options;
}

size_t Dispatcher::rank_of(std::span<const search::PlannedFault> faults) {
  constexpr size_t kMostFaults = 64;  // beyond them, faults do not change the rank any more
  bool suspect[kMostFaults] = {};
  const size_t number = std::min(faults.size(), kMostFaults);
  for (size_t i = 0; i < number; ++i) {
    const auto [known, added] =
        suspect_.emplace(std::pair(faults[i].index, faults[i].fault), false);
    if (added) {
      const auto fault = describe(faults[i]);
      known->second = fault && suspects_.are_met_by(*fault);
    }
    suspect[i] = known->second;
  }
  return Suspects::rank({suspect, number});
}

// 0: of several sites.
uint64_t Dispatcher::site_of(std::span<const search::PlannedFault> faults) {
  uint64_t site = 0;
  for (const search::PlannedFault& fault : faults) {
    const auto [known, added] = sites_.try_emplace(fault.index);
    if (added) known->second = call_site_of(known_.find(fault.index));
    if (site != 0 && known->second != site) return 0;
    site = known->second;
  }
  return site;
}

std::optional<InjectedFault> Dispatcher::describe(const search::PlannedFault& fault) {
  const InjectedFault* rpc = known_.find(fault.index);
  const FaultSpec* spec = outcomes_.fault(fault.fault);
  if (rpc == nullptr || spec == nullptr) return std::nullopt;
  InjectedFault out = *rpc;
  out.set_fault(*spec);
  return out;
}

Result<std::vector<InjectedFault>> Dispatcher::describe(
    const search::AbstractExecution& execution) {
  std::vector<InjectedFault> out;
  std::vector<search::ObservedRpc> prefix;
  for (const search::PlannedFault& planned : execution.faults) {
    auto described = describe(planned);
    if (!described) {
      return Error{"the store of this session does not know RPC " + to_hex(planned.index) +
                   "; begin anew with --restart-session"};
    }
    InjectedFault& fault = out.emplace_back(std::move(*described));
    const FaultKind kind = outcomes_.fault(planned.fault)->kind;
    if (!is_at_connect(kind)) continue;
    if (prefix.empty()) prefix = search_->prefix(execution.id);
    known_.number(prefix, &fault);
    // The newest fault has no outcome yet, so only earlier faults can be known as resets.
    const auto seen = std::find_if(prefix.begin(), prefix.end(), [&](const auto& one) {
      return one.index == planned.index && one.injected != 0;
    });
    fault.as_reset = kind == FaultKind::kRefused && seen != prefix.end() &&
                     planned.index != execution.faults.back().index &&
                     seen->outcome != planned.fault;
  }
  return out;
}

Result<std::optional<Case>> Dispatcher::next(const search::Reach& reach) {
  if (const auto attempts = early_.next(); attempts && reach.only_site == 0 && !is_full()) {
    auto next = case_of(*attempts);
    if (!next) return next.error();
    Case& one = next.value();
    const FaultSpec all = EarlyAttempts::at_each_attempt(one.plan.front().fault);
    one.faults.front().set_fault(all);
    one.plan.front() = plan_fault(one.faults.front(), all);
    return std::optional(std::move(one));
  }
  auto execution = is_full() ? std::nullopt : search_->next(reach);
  if (!execution) {
    if (auto healthy = search_->health(); !healthy) return healthy.error();
    return std::optional<Case>();
  }
  auto next = case_of(*execution);
  if (!next) return next.error();
  return std::optional(std::move(next).value());
}

Result<Case> Dispatcher::case_of(const search::AbstractExecution& execution) {
  auto faults = describe(execution);
  if (!faults) return faults.error();
  Case out{execution.id, std::move(faults).value(), {}};
  for (size_t i = 0; i < out.faults.size(); ++i)
    out.plan.push_back(plan_fault(out.faults[i], *outcomes_.fault(execution.faults[i].fault)));
  return out;
}

Result<std::vector<Case>> Dispatcher::ahead(size_t most, const search::Reach& reach) {
  std::vector<Case> out;
  for (const search::AbstractExecution& execution : search_->ahead(most, reach)) {
    auto later = case_of(execution);
    if (!later) return later.error();
    out.push_back(std::move(later).value());
  }
  return out;
}

Result<void> Dispatcher::conclude(search::AbstractId id, std::span<const search::ObservedRpc> rpcs,
                                  bool passed) {
  ++concluded_now_;
  places_.ran(search_->describe(id), &known_);
  if (auto done = search_->executed(id, rpcs); !done || !passed) return done;
  return look_for_attempts(id, rpcs);
}

// An RPC is another attempt of the faulted call if it is the same request from the same place, and comes only since the fault.
Result<void> Dispatcher::look_for_attempts(search::AbstractId id,
                                           std::span<const search::ObservedRpc> rpcs) {
  if (config_.reduce == Reduction::kPublished) return {};
  const search::AbstractExecution execution = search_->describe(id);
  if (execution.faults.size() != 1) return {};
  const search::PlannedFault& first = execution.faults.front();
  const InjectedFault* failed = known_.find(first.index);
  const FaultSpec* fault = outcomes_.fault(first.fault);
  if (failed == nullptr || fault == nullptr || !EarlyAttempts::can_be_repeated(*fault)) return {};
  std::set<Hash128> usual;
  for (const search::ObservedRpc& rpc : search_->observed(search::kReference))
    usual.insert(rpc.index);
  const bool again = std::any_of(rpcs.begin(), rpcs.end(), [&](const search::ObservedRpc& rpc) {
    if (usual.contains(rpc.index) ||
        std::find(rpc.faults.begin(), rpc.faults.end(), first.fault) == rpc.faults.end())
      return false;
    const InjectedFault* other = known_.find(rpc.index);
    return other != nullptr && other->signature == failed->signature &&
           other->parent == failed->parent && other->call_site == failed->call_site &&
           other->count > failed->count;
  });
  return again ? early_.add(first, site_of(execution.faults)) : Result<void>();
}

Result<void> Dispatcher::conclude_early(std::vector<search::PlannedFault> attempts,
                                        std::span<const search::ObservedRpc> rpcs) {
  if (!attempts.empty()) ++concluded_now_;
  return early_.conclude(std::move(attempts), rpcs);
}

std::vector<search::PlannedFault> Dispatcher::faults_of(search::AbstractId id) const {
  if (!EarlyAttempts::is_early(id)) return search_->describe(id).faults;
  const auto found = std::find_if(early().begin(), early().end(),
                                  [&](const EarlyAttempts::Ahead& one) { return one.id == id; });
  return found == early().end() ? std::vector<search::PlannedFault>() : found->faults;
}

search::SearchCounts Dispatcher::counts() const {
  search::SearchCounts counts = search_->counts();
  const uint64_t most = config_.bounds.max_executions;
  const bool was_full = most != 0 && counts.executed >= most;
  counts.scheduled += early_.ahead().size();
  counts.executed += early_.ahead().size();
  if (!was_full && most != 0 && counts.executed >= most) counts.beyond_bound += counts.open;
  return counts;
}

bool Dispatcher::is_full() const {
  const uint64_t most = config_.bounds.max_executions;
  return most != 0 && counts().executed >= most;
}

Result<void> Dispatcher::take_over(search::AbstractId id,
                                   std::span<const search::ObservedRpc> rpcs) {
  places_.ran(search_->describe(id), &known_);
  return search_->executed(id, rpcs);
}

Result<void> Dispatcher::abandon(search::AbstractId id, std::string_view reason) {
  ++concluded_now_;
  places_.ran(search_->describe(id), &known_);
  return search_->abandoned(id, reason);
}

Result<void> Dispatcher::leave_out(search::AbstractId id, std::string_view reason) {
  return search_->left_out(id, reason);
}

Result<void> Dispatcher::allow(Hash128 index, const FaultSpec& fault) {
  auto outcome = outcomes_.id(fault);
  return outcome ? search_->allow(index, outcome.value()) : outcome.error();
}

Result<void> Dispatcher::begin_anew() {
  if (auto done = store_->forget_search(); !done) return done;
  suspect_.clear();
  if (auto done = early_.clear(); !done) return done;
  auto anew = search::Search::resume(options(), store_);
  if (!anew) return anew.error();
  search_.emplace(std::move(anew).value());
  places_ = {};
  scheduled_at_start_ = decided_at_start_ = 0;
  return {};
}

const FaultPlaces& Dispatcher::places() {
  places_.see(*search_, &known_);
  return places_;
}

void Dispatcher::start_clock() {
  began_ = Clock::now();
  const search::SearchCounts start = counts();
  scheduled_at_start_ = start.scheduled;
  decided_at_start_ = start.executed + start.redundant;
  concluded_now_ = 0;
}

Dispatcher::Estimate Dispatcher::estimate() const {
  const search::SearchCounts counts = this->counts();
  const double elapsed = std::chrono::duration<double>(Clock::now() - began_).count();
  const uint64_t decided = counts.executed + counts.redundant - decided_at_start_;
  Estimate out;
  out.rate = elapsed > 0 ? static_cast<double>(concluded_now_) / elapsed : 0;
  if (decided == 0) return out;
  // Every decided execution (run, or pruned at nearly no cost) schedules `growth` new ones on average.
  // While `growth` is below 1, the open executions are the start of a geometric series. Otherwise
  // nothing can be said beyond their number.
  const double growth =
      static_cast<double>(counts.scheduled - scheduled_at_start_) / static_cast<double>(decided);
  const double left = static_cast<double>(counts.open) / (growth < 0.9 ? 1 - growth : 1);
  out.seconds_left = left * elapsed / static_cast<double>(decided);
  return out;
}

// FILIBUSTER_TIME_UP_AFTER is for tests: the time is over after so many executions, whatever a
// clock says.
bool Dispatcher::is_time_over() const {
  if (!deadline_) return false;
  if (const char* after = getenv("FILIBUSTER_TIME_UP_AFTER"))
    return counts().executed >= std::strtoull(after, nullptr, 10);
  return Clock::now() >= *deadline_;
}

Result<Observation> Dispatcher::observe(const ExecutionRecord& record, const UnstableRpcs& unstable,
                                        const std::vector<NondeterminismRule>& masks) {
  return filibuster::observe(config_, record, &outcomes_, unstable, masks);
}

}  // namespace filibuster
