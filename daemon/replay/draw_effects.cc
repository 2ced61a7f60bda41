#include "daemon/replay/draw_effects.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/protocol/draws.h"
#include "core/text/glob.h"

namespace filibuster::replay {
namespace {

using cases::Case;
using cases::Draw;
using cases::DrawPoint;
using Effect = DrawPoint::Effect;

// Replays of all cases. What is not known behind them keeps its numbers.
constexpr size_t kMostReplays = 40;

// Other numbers of the same kind, the smallest, and the largest. Where any bytes are possible, they are the same ones each time, so that
// what all places do together is done by one of the halves again.
enum class Other : uint8_t { kOpposite, kSmallest, kLargest };
constexpr Other kOthers[] = {Other::kOpposite, Other::kSmallest, Other::kLargest};

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

// A number of the machine stands in its place.
void leave_out(Draw* draw) {
  if (draw->own != 0) return;
  draw->own = draw->bytes.size();
  draw->bytes.clear();
}

void change(Draw* draw, Other other) {
  if (draw->own != 0) return;
  if (!takes_any_bytes(*draw)) return leave_out(draw);
  for (char& each : draw->bytes) {
    each = other == Other::kSmallest  ? '\0'
           : other == Other::kLargest ? '\xff'
                                      : static_cast<char>(~each);
  }
}

class DrawSearch {
 public:
  DrawSearch(LoadedSet* set, const std::vector<std::string>& keep, const ReplayAll& replay)
      : set_(*set), keep_(keep), replay_(replay) {}

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
  // Precondition: other numbers at these places have done this together.
  Result<void> halve(const std::vector<Place>& at, Other other, const Changed& did);
  Result<void> check_those_without_effect();
  // Those that are not known to have an effect.
  std::vector<Place> others() const;
  void set(const std::vector<Place>& at, Effect effect);
  void finish();
  DrawPoint& point(const Place& at);
  bool is_kept(const DrawPoint& point) const;

  LoadedSet& set_;
  const std::vector<std::string>& keep_;
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

Result<void> DrawSearch::halve(const std::vector<Place>& at, Other other, const Changed& did) {
  if (at.size() == 1) {
    set(at, did.misleads ? Effect::kUnfit : Effect::kSome);
    return {};
  }
  const auto middle = at.begin() + static_cast<std::ptrdiff_t>(at.size() / 2);
  const std::vector<Place> halves[] = {{at.begin(), middle}, {middle, at.end()}};
  bool any = false;
  for (const std::vector<Place>& half : halves) {
    auto changed = try_others(half, other);
    if (!changed) return changed.error();
    if (!changed.value()) set(half, Effect::kUnknown);
    if (!changed.value() || changed.value()->any) any = true;
    if (!changed.value() || !changed.value()->any) continue;
    if (auto halved = halve(half, other, *changed.value()); !halved) return halved;
  }
  // They have an effect only together.
  if (!any) set(at, Effect::kSome);
  return {};
}

// Two places may hide one another: all that seem to have none have others at the same time.
Result<void> DrawSearch::check_those_without_effect() {
  const std::vector<Place> at = others();
  if (at.empty() || at.size() == effects_.size()) return {};
  auto changed = try_others(at, Other::kOpposite);
  if (!changed) return changed.error();
  if (!changed.value()) set(at, Effect::kUnknown);
  if (changed.value() && changed.value()->any) set(at, Effect::kSome);
  return {};
}

std::vector<Place> DrawSearch::others() const {
  std::vector<Place> out;
  for (const auto& [place, effect] : effects_) {
    if (effect == Effect::kNone) out.push_back(place);
  }
  return out;
}

void DrawSearch::set(const std::vector<Place>& at, Effect effect) {
  for (const Place& each : at) effects_[each] = effect;
}

DrawPoint& DrawSearch::point(const Place& at) {
  for (DrawPoint& each : set_.set.draws) {
    if (Place(each.source, each.site) == at) return each;
  }
  DrawPoint& out = set_.set.draws.emplace_back();
  std::tie(out.source, out.site) = at;
  return out;
}

bool DrawSearch::is_kept(const DrawPoint& point) const {
  return std::any_of(keep_.begin(), keep_.end(), [&](const std::string& pattern) {
    return glob_match(pattern, point.source) ||
           std::any_of(point.stack.begin(), point.stack.end(),
                       [&](const std::string& frame) { return glob_match(pattern, frame); });
  });
}

void DrawSearch::finish() {
  for (auto& row : effects_) {
    const Place& at = row.first;
    DrawPoint& of = point(at);
    if (row.second == Effect::kNone && is_kept(of)) row.second = Effect::kKept;
    of.effect = row.second;
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
      const bool is_needed = draw->own == 0 && effect != effects_.end() &&
                             effect->second != Effect::kNone && effect->second != Effect::kUnfit;
      if (!is_needed) leave_out(&*draw);
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
  set({all.begin(), all.end()}, Effect::kNone);
  for (const Other other : kOthers) {
    const std::vector<Place> at = others();
    if (at.empty()) break;
    auto changed = try_others(at, other);
    if (!changed) return changed.error();
    if (!changed.value()) set(at, Effect::kUnknown);
    if (!changed.value() || !changed.value()->any) continue;
    if (auto halved = halve(at, other, *changed.value()); !halved) return halved.error();
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

Result<DrawEffects> find_draw_effects(LoadedSet* set, const std::vector<std::string>& keep,
                                      const ReplayAll& replay) {
  return DrawSearch(set, keep, replay).run();
}

}  // namespace filibuster::replay
