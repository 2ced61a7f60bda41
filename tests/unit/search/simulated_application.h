// An application in one process, without sockets: services are functions that issue RPCs and map
// their outcomes to their own answer. Runs under a plan of faults and says what the agents would
// have seen. A fault whose text ends in ":after" takes the answer away: the service has answered by
// then. A service that answers "" is not waited for: its caller goes on without an outcome.
//
//   SimulatedApplication app;
//   app.faults("movies", {"status:503"});
//   app.service("users", [](Caller& c) { return c.call("movies") == kOk ? kOk : "status:500"; });
//   app.test([](Caller& c) { return c.call("users"); });
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/hash.h"
#include "daemon/search/search.h"
#include "daemon/store/store.h"

namespace filibuster::search {

inline const std::string kOk = "status:200";
using FaultSet = std::map<Hash128, OutcomeId>;
// One group: the parent's index and (index, outcome) of each RPC under it.
using GroupSeen = std::pair<Hash128, std::vector<std::pair<Hash128, OutcomeId>>>;

struct SimulatedRun {
  std::vector<ObservedRpc> rpcs;
  size_t faults_met = 0;
};

class SimulatedApplication;

// What a service holds while it serves one request.
class Caller {
 public:
  Caller(SimulatedApplication& app, const FaultSet& plan, SimulatedRun& run, Hash128 path)
      : app_(app), plan_(plan), run_(run), path_(path) {}
  // The outcome as the caller sees it. `what` distinguishes endpoints of one service.
  std::string call(const std::string& service, const std::string& what = "");
  // Several at once: in another order each time, and what is called by one between what is called
  // by another. The outcomes in the order of `calls`: how the caller goes on is not a matter of
  // chance. seen() gets them so, too.
  std::vector<std::string> call_at_once(
      const std::vector<std::pair<std::string, std::string>>& calls);
  const std::vector<std::string>& seen() const { return seen_; }

 private:
  SimulatedApplication& app_;
  const FaultSet& plan_;
  SimulatedRun& run_;
  Hash128 path_;
  std::map<std::string, uint32_t> count_;
  std::vector<std::string> seen_;  // outcomes so far
};

class SimulatedApplication {
 public:
  using Handler = std::function<std::string(Caller&)>;

  void service(const std::string& name, Handler handler) { handlers_[name] = std::move(handler); }
  void test(Handler handler) { test_ = std::move(handler); }
  void faults(const std::string& service, const std::vector<std::string>& texts) {
    for (const std::string& text : texts) faults_[service].push_back(outcome(text));
  }
  // Of what is called at once.
  std::mt19937_64& chance() { return chance_; }
  // An index without the invocation count: the k-th call of a retry loop is no RPC of its own.
  void leave_out_count() { count_in_index_ = false; }

  // The call site of an RPC that came: attempts of one call have one. 0: it never came.
  uint64_t site(Hash128 index) const {
    const auto known = sites_.find(index);
    return known == sites_.end() ? 0 : known->second;
  }

  OutcomeId outcome(const std::string& text) {
    if (text.empty()) return 0;
    const auto next = static_cast<OutcomeId>(texts_.size());
    const auto [at, added] = outcomes_.emplace(text, next);
    if (added) texts_.push_back(text);
    return at->second;
  }
  const std::string& text(OutcomeId id) const { return texts_[id]; }
  SimulatedRun run(const FaultSet& plan) {
    SimulatedRun result;
    Caller caller(*this, plan, result, Hash128{});
    test_(caller);
    return result;
  }

 private:
  friend class Caller;
  std::map<std::string, Handler> handlers_;
  std::map<std::string, std::vector<OutcomeId>> faults_;
  std::map<std::string, OutcomeId> outcomes_;
  std::map<Hash128, uint64_t> sites_;
  std::vector<std::string> texts_{""};
  Handler test_;
  std::mt19937_64 chance_{1};
  bool count_in_index_ = true;
};

inline std::string Caller::call(const std::string& service, const std::string& what) {
  const std::string signature = service + "|" + what;
  const uint32_t count = ++count_[signature];
  const Hash128 index =
      combine(combine(path_, hash_text(signature)), app_.count_in_index_ ? count : 0);
  app_.sites_[index] = combine(path_, hash_text(signature)).lo | 1;
  const size_t at = run_.rpcs.size();
  run_.rpcs.push_back({index, path_, 0, 0, app_.faults_[service]});
  const auto fault = plan_.find(index);
  const bool faulted = fault != plan_.end();
  OutcomeId outcome = 0;
  if (!faulted || app_.text(fault->second).ends_with(":after")) {
    Caller callee(app_, plan_, run_, index);
    const auto handler = app_.handlers_.find(service);
    outcome = app_.outcome(handler == app_.handlers_.end() ? kOk : handler->second(callee));
  }
  if (faulted) {
    outcome = run_.rpcs[at].injected = fault->second;
    ++run_.faults_met;
  }
  run_.rpcs[at].outcome = outcome;
  seen_.push_back(app_.text(outcome));
  return seen_.back();
}

inline std::vector<std::string> Caller::call_at_once(
    const std::vector<std::pair<std::string, std::string>>& calls) {
  std::vector<ObservedRpc> before = std::move(run_.rpcs);
  std::vector<std::string> outcomes;
  std::vector<std::vector<ObservedRpc>> parts;
  for (const auto& [service, what] : calls) {
    run_.rpcs.clear();
    outcomes.push_back(call(service, what));
    parts.push_back(std::move(run_.rpcs));
  }
  run_.rpcs = std::move(before);
  std::vector<size_t> left, taken(parts.size());
  for (size_t part = 0; part < parts.size(); ++part)
    left.insert(left.end(), parts[part].size(), part);
  std::shuffle(left.begin(), left.end(), app_.chance());
  for (const size_t part : left) run_.rpcs.push_back(parts[part][taken[part]++]);
  return outcomes;
}

// `in_order` false: what is called at once makes the same group in any order.
inline std::set<GroupSeen> groups_of(const SimulatedRun& run, bool in_order = true) {
  std::map<Hash128, std::vector<std::pair<Hash128, OutcomeId>>> groups;
  for (const ObservedRpc& rpc : run.rpcs) groups[rpc.parent].emplace_back(rpc.index, rpc.outcome);
  if (!in_order) {
    for (auto& [parent, group] : groups) std::sort(group.begin(), group.end());
  }
  return {groups.begin(), groups.end()};
}

inline FaultSet plan_of(const AbstractExecution& execution) {
  FaultSet plan;
  for (const PlannedFault& fault : execution.faults) plan[fault.index] = fault.fault;
  return plan;
}

struct Exploration {
  SearchCounts counts;
  std::set<GroupSeen> groups;
  std::set<FaultSet> plans;  // executed, without the reference
  bool repeated = false;     // a set of faults was executed twice
  bool in_order = true;      // of the groups: groups_of()
};

// Continues `search` until it is explored or `limit` executions were run.
inline void explore(SimulatedApplication& app, Search& search, Exploration* seen,
                    uint64_t limit = UINT64_MAX) {
  if (search.counts().executed == 0) {
    const SimulatedRun reference = app.run({});
    seen->groups.merge(groups_of(reference, seen->in_order));
    (void)search.executed(kReference, reference.rpcs);
  }
  for (; limit > 0; --limit) {
    const auto next = search.next();
    if (!next) break;
    const FaultSet plan = plan_of(*next);
    seen->repeated = !seen->plans.insert(plan).second || seen->repeated;
    const SimulatedRun run = app.run(plan);
    seen->groups.merge(groups_of(run, seen->in_order));
    if (run.faults_met < plan.size()) {
      (void)search.abandoned(next->id, "plan not met");
    } else {
      (void)search.executed(next->id, run.rpcs);
    }
  }
  seen->counts = search.counts();
}

inline Exploration explore(SimulatedApplication& app, const SearchOptions& options = {},
                           SearchStore* store = nullptr) {
  Search search(options, store);
  Exploration seen;
  explore(app, search, &seen);
  return seen;
}

}  // namespace filibuster::search
