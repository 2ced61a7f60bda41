// netflix_search DIRECTORY
// The search of Table 7.2's last three rows without processes: netflix's calls, as its README has
// them, answer the search directly. Prints for each row, without and with reduction: executions,
// and the time that the search itself takes (scheduling, ESR; on a processor), with the store in
// memory and on disk. What is left in between are its writes.
//
// One JSON object on a line for each; what a run of the real application costs is in sfit.py.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/search/search.h"
#include "daemon/store/store.h"

namespace {

using namespace filibuster;
using namespace filibuster::search;

enum Outcome : OutcomeId { kOk = 1, kRefused, kTimeout, k404, k500, k503 };

// Seconds that this process spent on a processor.
double processor_seconds() {
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// One request for the homepage under the faults of a plan.
class Request {
 public:
  Request(const std::vector<PlannedFault>& plan, bool bugs) : bugs_(bugs) {
    for (const PlannedFault& fault : plan) plan_[fault.index] = fault.fault;
  }

  std::vector<ObservedRpc> run() {
    call("api-gateway", Hash128{}, {kRefused, kTimeout, k404, k500, k503},
         [this](Hash128 self) { return homepage(self); });
    return std::move(rpcs_);
  }

 private:
  template <typename Callee>
  OutcomeId call(const std::string& name, Hash128 parent, std::vector<OutcomeId> faults,
                 Callee callee) {
    const Hash128 index = hash_text(to_hex(parent) + name);
    const auto fault = plan_.find(index);
    const OutcomeId injected = fault == plan_.end() ? 0 : fault->second;
    const size_t at = rpcs_.size();
    rpcs_.push_back({index, parent, kOk, injected, std::move(faults)});
    const OutcomeId outcome = injected != 0 ? injected : callee(index);
    return rpcs_[at].outcome = outcome;
  }

  OutcomeId leaf(const std::string& name, Hash128 parent, bool knows_users) {
    std::vector<OutcomeId> faults = {kRefused, kTimeout, k500};
    if (knows_users) faults = {kRefused, kTimeout, k404, k500};
    return call(name, parent, std::move(faults), [](Hash128) { return kOk; });
  }

  static bool is_no_answer(OutcomeId outcome) { return outcome == kRefused || outcome == kTimeout; }

  // What the gateway answers when a call that it needs came to `outcome`.
  static OutcomeId answer_without(OutcomeId outcome) {
    return is_no_answer(outcome) ? k503 : outcome == k404 ? k404 : k500;
  }

  OutcomeId homepage(Hash128 self) {
    const OutcomeId profile =
        call("user-profile", self, {kRefused, kTimeout, k404, k500}, [this](Hash128 own) {
          if (bugs_) leaf("telemetry", own, false);
          return kOk;
        });
    if (profile == k404 || (profile != kOk && bugs_)) return answer_without(profile);
    if (profile != kOk) return kOk;  // the page of somebody who has not signed in
    bool trending = false;
    if (leaf("bookmarks", self, true) != kOk) {
      leaf("telemetry", self, false);
      const OutcomeId stand_in = leaf("trending", self, false);
      if (stand_in != kOk) return answer_without(stand_in);
      trending = true;
    }
    OutcomeId list = leaf("my-list", self, true);
    if (bugs_ && is_no_answer(list)) list = leaf("my-list again", self, true);
    if (list != kOk) return answer_without(list);
    if (leaf("user-recommendations", self, true) != kOk &&
        leaf("global-recommendations", self, false) != kOk && !trending) {
      const OutcomeId stand_in = leaf("trending", self, false);
      if (stand_in != kOk) return answer_without(stand_in);
    }
    const OutcomeId ratings = leaf("ratings", self, true);
    return ratings == kOk ? kOk : answer_without(ratings);
  }

  bool bugs_;
  std::map<Hash128, OutcomeId> plan_;
  std::vector<ObservedRpc> rpcs_;
};

// What it takes to explore; the time of the simulated application is left out.
struct Cost {
  uint64_t executed = 0, scheduled = 0;
  double seconds = 0;  // on a processor, of the search alone
};

bool explore(bool bugs, bool reduce, SearchStore* store, Cost* cost) {
  SearchOptions options;
  options.reduce = reduce;
  double in_application = 0;
  const auto run = [&](const std::vector<PlannedFault>& plan) {
    const double start = processor_seconds();
    std::vector<ObservedRpc> seen = Request(plan, bugs).run();
    in_application += processor_seconds() - start;
    return seen;
  };
  const double start = processor_seconds();
  Search search(options, store);
  if (!search.executed(kReference, run({}))) return false;
  while (const auto next = search.next()) {
    if (!search.executed(next->id, run(next->faults))) return false;
  }
  if (!search.health() || (store != nullptr && !store->flush())) return false;
  cost->seconds = processor_seconds() - start - in_application;
  cost->executed = search.counts().executed;
  cost->scheduled = search.counts().scheduled;
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: netflix_search DIRECTORY\n");
    return 2;
  }
  for (const bool bugs : {false, true}) {
    for (const bool reduce : {false, true}) {
      Cost memory, disk;
      const std::string path =
          std::string(argv[1]) + "/" + (bugs ? "b" : "-") + (reduce ? "r" : "-") + ".db";
      auto store = SearchStore::open(path);
      if (!store || !explore(bugs, reduce, nullptr, &memory) ||
          !explore(bugs, reduce, store.value().get(), &disk)) {
        std::fprintf(stderr, "netflix_search: the store failed\n");
        return 3;
      }
      std::printf(
          "{\"bugs\": %s, \"reduce\": %s, \"executed\": %lu, \"scheduled\": %lu, "
          "\"search_seconds\": %.4f, \"with_store_seconds\": %.4f}\n",
          bugs ? "true" : "false", reduce ? "true" : "false",
          static_cast<unsigned long>(memory.executed), static_cast<unsigned long>(memory.scheduled),
          memory.seconds, disk.seconds);
    }
  }
  return 0;
}
