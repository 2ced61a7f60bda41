// What is scheduled and not handed out, and in which order it is handed out (search.h "The order").
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/model/search_counts.h"
#include "daemon/search/journal.h"
#include "daemon/search/search.h"

namespace filibuster::search {

// Executions with one fault. The call sites take turns: each gets one fault, then each another one. A call site takes the fault that
// it had least often, of these one that was allowed late (Search::allow) or else the one that failed most often anywhere, and another RPC
// of it each time.
class SingleFaults {
 public:
  struct Single {
    AbstractId id = 0;
    uint64_t site = 0;
    size_t rank = 0;  // in each round, lower ones come first
    OutcomeId fault = 0;
  };
  void add(const Single& one);
  bool empty() const { return turns_.empty(); }
  bool waits_at(uint64_t site) const;
  AbstractId take();                  // precondition: !empty()
  AbstractId take_at(uint64_t site);  // precondition: waits_at(site)
  std::vector<SiteFaults> sites() const;
  // It was handed out by an earlier process.
  void was_taken(const Single& one);
  void failed(OutcomeId fault) { ++failures_[fault]; }
  // This fault was allowed for a reason.
  void prefer(OutcomeId fault) { preferred_.insert(fault); }

 private:
  struct Kind {
    OutcomeId fault = 0;
    size_t taken = 0;
    std::deque<AbstractId> ids;
  };
  struct Site {
    size_t number = 0;  // in the order in which they came
    size_t taken = 0;   // executions that were handed out
    size_t waiting = 0;
    std::vector<Kind> kinds;  // in the order of the configuration
    Kind& of(OutcomeId fault);
  };
  // The same call site with another rank takes turns of its own.
  using Key = std::pair<uint64_t, size_t>;
  using Turn = std::tuple<size_t, size_t, size_t>;  // how often it was taken, rank, number
  static Turn turn_of(const Key& key, const Site& site) {
    return {site.taken, key.second, site.number};
  }
  Site& site_of(const Single& one);
  AbstractId take_of(Key key);  // a copy: its turn is taken out

  std::map<Key, Site> sites_;
  std::map<Turn, Key> turns_;  // of the sites where something waits
  std::map<OutcomeId, size_t> failures_;
  std::set<OutcomeId> preferred_;
};

class OpenExecutions {
 public:
  // Depth first: all are equal, and the last scheduled comes first (`oldest`: the first scheduled).
  void add(AbstractId id) { last_.push_back(id); }
  void add_single(const SingleFaults::Single& one) { singles_.add(one); }
  // Fewer faults come first, of equally many the lower rank, and of one rank the last scheduled.
  void add_set(AbstractId id, size_t faults, size_t rank) { sets_[{faults, rank}].push_back(id); }
  SingleFaults& singles() { return singles_; }
  const SingleFaults& singles() const { return singles_; }

  // Whether something waits within `reach`.
  bool has(const Reach& reach) const {
    return !last_.empty() || has_single(reach) || has_set(reach);
  }
  AbstractId take(bool oldest, const Reach& reach);  // precondition: has(reach)

  // In the order of take(), if nothing is added meanwhile; `visit` returns whether to go on.
  template <typename Visit>
  void each(bool oldest, const Reach& reach, const Visit& visit) const {
    for (size_t i = 0; i < last_.size(); ++i)
      if (!visit(oldest ? last_[i] : last_[last_.size() - 1 - i])) return;
    if (reach.only_site != 0) {
      for (SingleFaults rest = singles_; rest.waits_at(reach.only_site);)
        if (!visit(rest.take_at(reach.only_site))) return;
      return;
    }
    for (SingleFaults rest = singles_; !rest.empty();)
      if (!visit(rest.take())) return;
    for (const auto& [key, ids] : sets_) {
      if (reach.max_faults != 0 && key.first > reach.max_faults) return;
      for (size_t i = ids.size(); i > 0; --i)
        if (!visit(ids[i - 1])) return;
    }
  }

 private:
  std::deque<AbstractId> last_;
  SingleFaults singles_;
  bool has_single(const Reach& reach) const {
    return reach.only_site != 0 ? singles_.waits_at(reach.only_site) : !singles_.empty();
  }
  bool has_set(const Reach& reach) const {
    return reach.only_site == 0 && !sets_.empty() &&
           (reach.max_faults == 0 || sets_.begin()->first.first <= reach.max_faults);
  }

  std::map<std::pair<size_t, size_t>, std::vector<AbstractId>> sets_;
};

}  // namespace filibuster::search
