#include "daemon/replay/inner_state.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "daemon/cases/identity.h"
#include "daemon/cases/route.h"

namespace filibuster::replay {
namespace {

using cases::Case;
using cases::Judged;
using Chain = std::vector<size_t>;  // places in the set, in order

constexpr size_t kLongestChain = 8;
// A chain that has grown so long from one request of a route to the next one grows on.
constexpr size_t kGrown = 5;
constexpr size_t kMostTries = 64;       // processes for one case
constexpr size_t kMostProcesses = 300;  // for all

class Search {
 public:
  Search(LoadedSet* set, Stage* stage) : set_(*set), stage_(*stage) {}

  Result<InnerState> run() {
    auto candidates = differ_in_another_order();
    if (!candidates) return candidates.error();
    for (const size_t place : candidates.value()) {
      if (out_.stopped) return out_;
      if (processes_ >= kMostProcesses) {
        ++out_.open;
        continue;
      }
      if (auto found = find(place); !found) return found.error();
    }
    if (out_.stopped) return out_;
    refuse();
    return out_;
  }

 private:
  Result<bool> passes(size_t place) {
    auto played = stage_.play(set_.cases[place]);
    if (!played) return played.error();
    ++out_.replays;
    out_.stopped = out_.stopped || played->stopped;
    missed_ = std::move(played->missed);
    return played->verdict.judged == Judged::kPassed;
  }

  // Cases that pass in the order of the recording and in the opposite one need none of the others. Where as many come before one in
  // either order, that says nothing of counters.
  Result<std::vector<size_t>> differ_in_another_order() {
    std::vector<size_t> out;
    if (set_.cases.size() < 2) return out;
    if (auto restarted = stage_.restart(); !restarted) return restarted.error();
    for (size_t i = set_.cases.size(); i-- > 0 && !out_.stopped;) {
      auto passed = passes(i);
      if (!passed) return passed.error();
      if (!passed.value() || 2 * i + 1 == set_.cases.size()) out.push_back(i);
    }
    std::reverse(out.begin(), out.end());
    return out;
  }

  // Is the case as it was recorded behind these, on a process of its own?
  Result<bool> passes_behind(const Chain& chain, size_t place) {
    ++processes_;
    ++tries_;
    if (auto restarted = stage_.restart(); !restarted) return restarted.error();
    for (const size_t each : chain) {
      if (auto played = passes(each); !played) return played.error();
      if (out_.stopped) return false;
    }
    return passes(place);
  }

  // An earlier case that makes a call which this one makes only alone: that it is not made is the hit of a cache.
  std::optional<size_t> who_called(size_t place) const {
    for (size_t i = place; i-- > 0;) {
      for (const cases::Call& call : set_.cases[i].calls) {
        const Hash128 input =
            cases::keys_of(call.input, cases::input_fields(call.input, set_.rules)).input;
        if (std::find(missed_.begin(), missed_.end(), input) != missed_.end()) return i;
      }
    }
    return std::nullopt;
  }

  // Chains that are likely to be enough, the shortest ones first.
  std::vector<Chain> guesses(size_t place) const {
    std::vector<Chain> out;
    if (const auto caller = who_called(place)) out.push_back({*caller});
    const auto last = last_of_route_.find(route_of(place));
    if (last == last_of_route_.end() || last->second.place >= place) return out;
    Chain longer = last->second.chain;
    longer.push_back(last->second.place);
    if (longer.size() > 1) out.push_back({last->second.place});
    out.push_back(std::move(longer));
    return out;
  }

  std::string route_of(size_t place) const {
    const cases::Request& request = set_.cases[place].request;
    return cases::route_of(request.method, request.target);
  }

  Result<void> find(size_t place) {
    OfRoute& last = last_of_route_[route_of(place)];
    if (last.grows) {
      grown_.insert(place);
      return {};
    }
    tries_ = 0;
    auto alone = passes_behind({}, place);
    if (!alone) return alone.error();
    if (out_.stopped) return {};
    Chain chain;
    if (!alone.value()) {
      if (auto found = find_chain(place, &chain); !found) return found;
      if (out_.stopped) return {};
    }
    const bool is_longer =
        std::includes(chain.begin(), chain.end(), last.chain.begin(), last.chain.end()) &&
        std::find(chain.begin(), chain.end(), last.place) != chain.end();
    last = {place, chain, is_longer && chain.size() >= kGrown};
    if (last.grows || chain.size() > kLongestChain) {
      grown_.insert(place);
      return {};
    }
    Case& of = set_.cases[place];
    of.start.clear();
    for (const size_t each : chain) of.start.push_back(cases::name_in_path(set_.cases[each].file));
    return {};
  }

  Result<void> find_chain(size_t place, Chain* chain) {
    const std::vector<Chain> likely = guesses(place);
    for (const Chain& guess : likely) {
      auto enough = passes_behind(guess, place);
      if (!enough) return enough.error();
      if (out_.stopped) return {};
      if (!enough.value()) continue;
      *chain = guess;
      return shorten(chain, place);
    }
    for (size_t i = 0; i < place; ++i) chain->push_back(i);
    return shorten(chain, place);
  }

  // Delta debugging: parts of the chain are left out as long as the case passes without them.
  Result<void> shorten(Chain* chain, size_t place) {
    for (size_t parts = 2; chain->size() > 1 && tries_ < kMostTries;) {
      bool shorter = false;
      const size_t size = (chain->size() + parts - 1) / parts;
      for (size_t from = 0; from < chain->size() && tries_ < kMostTries;) {
        Chain without = *chain;
        const auto first = without.begin() + static_cast<std::ptrdiff_t>(from);
        without.erase(first,
                      first + static_cast<std::ptrdiff_t>(std::min(size, without.size() - from)));
        auto passed = passes_behind(without, place);
        if (!passed) return passed.error();
        if (out_.stopped) return {};
        if (passed.value()) {
          *chain = std::move(without);
          shorter = true;
        } else {
          from += size;
        }
      }
      if (!shorter && size == 1) return {};
      if (!shorter) parts = std::min(parts * 2, chain->size());
    }
    return {};
  }

  // With those whose state has no end go those that need them.
  void refuse() {
    std::vector<Case> kept;
    std::set<std::string> gone;
    for (size_t i = 0; i < set_.cases.size(); ++i) {
      Case& of = set_.cases[i];
      const bool needs_gone =
          std::any_of(of.start.begin(), of.start.end(),
                      [&](const std::string& each) { return gone.contains(each); });
      if (!grown_.contains(i) && !needs_gone) {
        out_.units += of.start.empty() ? 0 : 1;
        kept.push_back(std::move(of));
        continue;
      }
      gone.insert(cases::name_in_path(of.file));
      of.start.clear();
      out_.refused.push_back(
          {std::move(of), needs_gone
                              ? kLacksOthers
                              : "it needs what more and more requests before it left in "
                                "the memory of the service: state that grows, such as a counter"});
    }
    set_.cases = std::move(kept);
  }

  LoadedSet& set_;
  Stage& stage_;
  InnerState out_;
  // The last case of a route that was searched for.
  struct OfRoute {
    size_t place = static_cast<size_t>(-1);
    Chain chain;
    bool grows = false;
  };
  std::map<std::string, OfRoute> last_of_route_;
  std::set<size_t> grown_;
  std::vector<Hash128> missed_;  // calls without an answer in the last replay
  size_t tries_ = 0, processes_ = 0;
};

}  // namespace

Result<InnerState> find_inner_state(LoadedSet* set, Stage* stage) {
  return Search(set, stage).run();
}

}  // namespace filibuster::replay
