#include "daemon/replay/draw_effects.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/protocol/draws.h"

namespace filibuster::replay {
namespace {

using cases::Case;
using cases::Draw;
using cases::DrawPoint;
using Effect = DrawPoint::Effect;

// Replays of all cases. What is not known behind them keeps its numbers.
constexpr size_t kMostReplays = 40;

// Other numbers of the same kind, the smallest, and the largest.
enum class Other : uint8_t { kOwn, kSmallest, kLargest };
constexpr Other kOthers[] = {Other::kOwn, Other::kSmallest, Other::kLargest};

using Place = std::pair<std::string, std::string>;  // source and site

Place place_of(const Draw& draw) {
  return {draw.source, draw.site};
}

// Are all bytes possible? Others are numbers of a type of their language.
bool takes_any_bytes(const Draw& draw) {
  switch (find_draw_source(draw.source)) {
    case DrawSource::kLibc:
    case DrawSource::kPython:
    case DrawSource::kNode:
    case DrawSource::kJava:
    case DrawSource::kNone:
      return false;
    default:
      return true;
  }
}

void change(Draw* draw, Other other) {
  if (draw->own != 0) return;
  if (other != Other::kOwn && takes_any_bytes(*draw)) {
    std::fill(draw->bytes.begin(), draw->bytes.end(), other == Other::kSmallest ? '\0' : '\xff');
    return;
  }
  draw->own = draw->bytes.size();
  draw->bytes.clear();
}

class DrawSearch {
 public:
  DrawSearch(LoadedSet* set, const ReplayAll& replay) : set_(*set), replay_(replay) {}

  Result<DrawEffects> run();

 private:
  // What other numbers at these places do. nullopt: that was not looked for.
  struct Changed {
    bool any = false;
    // Something that differs from the recording with its own numbers differs in another way: it comes of them, and what was
    // recorded does not.
    bool misleads = false;
  };
  Result<std::optional<Changed>> try_others(const std::vector<Place>& at, Other other);
  // Whether any does, with others of any kind; nullopt: it is not known.
  Result<std::optional<bool>> has_effect(const std::vector<Place>& at);
  Result<void> halve(std::vector<Place> at);
  Result<void> check_those_without_effect();
  void finish();
  DrawPoint& point(const Place& at);

  LoadedSet& set_;
  const ReplayAll& replay_;
  Endings base_;
  size_t replays_ = 0;
  bool stopped_ = false;
  std::map<Place, Effect> effects_;
};

Result<std::optional<DrawSearch::Changed>> DrawSearch::try_others(const std::vector<Place>& at,
                                                                  Other other) {
  if (stopped_ || replays_ == kMostReplays) return std::optional<Changed>();
  ++replays_;
  const std::set<Place> places(at.begin(), at.end());
  auto ended = replay_([&](const Case& of) {
    Case out = of;
    for (Draw& draw : out.draws) {
      if (places.contains(place_of(draw))) change(&draw, other);
    }
    return out;
  });
  if (!ended) return ended.error();
  stopped_ = ended->size() != base_.size();
  if (stopped_) return std::optional<Changed>();
  Changed changed;
  for (size_t i = 0; i < base_.size(); ++i) {
    const Ending& now = ended.value()[i];
    changed.any = changed.any || now != base_[i];
    changed.misleads =
        changed.misleads || std::any_of(base_[i].begin(), base_[i].end(), [&](const auto& differs) {
          const auto same = now.find(differs.first);
          return same == now.end() || same->second != differs.second;
        });
  }
  return std::optional(changed);
}

Result<std::optional<bool>> DrawSearch::has_effect(const std::vector<Place>& at) {
  bool changes = false;
  for (const Other other : kOthers) {
    auto changed = try_others(at, other);
    if (!changed) return changed.error();
    if (!changed.value()) return std::optional<bool>();
    changes = changes || changed.value()->any;
    if (changed.value()->misleads && at.size() == 1) effects_[at.front()] = Effect::kUnfit;
    if (changes && (at.size() > 1 || changed.value()->misleads)) break;
  }
  return std::optional(changes);
}

// Precondition: these places have an effect together.
Result<void> DrawSearch::halve(std::vector<Place> at) {
  if (at.size() == 1) {
    effects_.try_emplace(at.front(), Effect::kSome);
    return {};
  }
  const auto middle = at.begin() + static_cast<std::ptrdiff_t>(at.size() / 2);
  const std::vector<Place> halves[] = {{at.begin(), middle}, {middle, at.end()}};
  bool any = false;
  for (const std::vector<Place>& half : halves) {
    auto has = has_effect(half);
    if (!has) return has.error();
    if (!has.value()) {
      for (const Place& each : half) effects_.try_emplace(each, Effect::kUnknown);
      any = true;
    } else if (*has.value()) {
      any = true;
      if (auto halved = halve(half); !halved) return halved;
    } else {
      for (const Place& each : half) effects_.try_emplace(each, Effect::kNone);
    }
  }
  // They have an effect only together.
  if (!any) {
    for (const Place& each : at) effects_[each] = Effect::kSome;
  }
  return {};
}

// Two places may hide one another.
Result<void> DrawSearch::check_those_without_effect() {
  std::vector<Place> at;
  for (const auto& [place, effect] : effects_) {
    if (effect == Effect::kNone) at.push_back(place);
  }
  if (at.empty() || at.size() == effects_.size()) return {};
  auto has = has_effect(at);
  if (!has) return has.error();
  if (has.value() && !*has.value()) return {};
  for (const Place& each : at) effects_[each] = has.value() ? Effect::kSome : Effect::kUnknown;
  return {};
}

DrawPoint& DrawSearch::point(const Place& at) {
  for (DrawPoint& each : set_.set.draws) {
    if (Place(each.source, each.site) == at) return each;
  }
  DrawPoint& out = set_.set.draws.emplace_back();
  std::tie(out.source, out.site) = at;
  return out;
}

void DrawSearch::finish() {
  for (const auto& row : effects_) {
    const Place& at = row.first;
    const Effect effect = row.second;
    DrawPoint& of = point(at);
    of.effect = effect;
    of.replays = replays_;
    of.cases = static_cast<uint64_t>(
        std::count_if(set_.cases.begin(), set_.cases.end(), [&](const Case& each) {
          return std::any_of(each.draws.begin(), each.draws.end(),
                             [&](const Draw& draw) { return place_of(draw) == at; });
        }));
  }
  for (Case& each : set_.cases) {
    // What is drawn later from the same source, in the same size, would be given in the place of a number that is not there.
    std::vector<Draw> kept;
    std::set<std::pair<std::string, uint64_t>> later;
    for (auto draw = each.draws.rbegin(); draw != each.draws.rend(); ++draw) {
      const auto effect = effects_.find(place_of(*draw));
      const bool is_needed =
          draw->own == 0 && effect != effects_.end() &&
          (effect->second == Effect::kSome || effect->second == Effect::kUnknown);
      if (!is_needed) change(&*draw, Other::kOwn);
      const std::pair<std::string, uint64_t> kind(draw->source,
                                                  draw->own != 0 ? draw->own : draw->bytes.size());
      if (is_needed) later.insert(kind);
      if (is_needed || later.contains(kind)) kept.push_back(std::move(*draw));
    }
    each.draws.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
  }
}

Result<DrawEffects> DrawSearch::run() {
  DrawEffects out;
  std::set<Place> all;
  for (const Case& each : set_.cases) {
    for (const Draw& draw : each.draws) {
      if (draw.own == 0) all.insert(place_of(draw));
    }
  }
  if (all.empty()) {
    finish();
    return out;
  }
  auto base = replay_([](const Case& of) { return of; });
  if (!base) return base.error();
  base_ = std::move(base).value();
  out.stopped = base_.size() != set_.cases.size();
  if (out.stopped) return out;
  const std::vector<Place> places(all.begin(), all.end());
  auto has = has_effect(places);
  if (!has) return has.error();
  if (has.value() && *has.value()) {
    if (auto halved = halve(places); !halved) return halved.error();
  } else {
    for (const Place& each : places)
      effects_[each] = has.value() ? Effect::kNone : Effect::kUnknown;
  }
  if (auto checked = check_those_without_effect(); !checked) return checked.error();
  out.stopped = stopped_;
  if (stopped_) return out;
  finish();
  out.has_unfit = std::any_of(effects_.begin(), effects_.end(),
                              [](const auto& row) { return row.second == Effect::kUnfit; });
  return out;
}

}  // namespace

Result<DrawEffects> find_draw_effects(LoadedSet* set, const ReplayAll& replay) {
  return DrawSearch(set, replay).run();
}

}  // namespace filibuster::replay
