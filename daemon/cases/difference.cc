#include "daemon/cases/difference.h"

#include <algorithm>
#include <array>
#include <limits>

#include "daemon/cases/identity.h"

namespace filibuster::cases {
namespace {

constexpr size_t kLast = std::numeric_limits<size_t>::max();

// Of divergences at one place, the first of these is the finding. A call that is not recorded gets an
// error, for which the calls behind it may not come.
int rank_of(DifferenceKind kind) {
  constexpr std::array kRanks{DifferenceKind::kInput, DifferenceKind::kExtra,
                              DifferenceKind::kMissing, DifferenceKind::kOrder,
                              DifferenceKind::kAnswer};
  return static_cast<int>(std::find(kRanks.begin(), kRanks.end(), kind) - kRanks.begin());
}

struct Placed {
  size_t place;
  Difference difference;
};

class Comparison {
 public:
  Comparison(const Case& of, const Matcher& matcher) : case_(of), matcher_(matcher) {}

  void misses() {
    const std::vector<Matcher::Arrival>& arrivals = matcher_.arrivals();
    for (size_t i = 0; i < arrivals.size(); ++i) {
      if (arrivals[i].of_process || !arrivals[i].missed()) continue;
      const std::optional<size_t> left = left_like(arrivals[i]);
      if (left) {
        input(arrivals[i], i, *left);
      } else {
        extra(arrivals[i], i);
      }
    }
  }

  // The only extra call to a service by a method, where a recorded one of these did not come at its place: the same call by another path.
  void moved_calls() {
    for (Placed& extra : found_) {
      const Difference& of = extra.difference;
      if (of.kind != DifferenceKind::kExtra || number_of_extras_like(*of.arrival) != 1) continue;
      const size_t number = *of.arrival;
      const Matcher::Arrival& arrival = matcher_.arrivals()[number];
      const std::optional<size_t> place = left_at(arrival);
      if (!place) continue;
      extra.difference = input_difference(arrival, number, *place);
      extra.difference.is_moved = true;
    }
  }

  void left_calls() {
    for (size_t i = 0; i < matcher_.pool().size(); ++i) {
      if (matcher_.pool().is_taken(i) || is_paired(i)) continue;
      Difference out = of_call(DifferenceKind::kMissing, i);
      out.text = "call " + std::to_string(i) + " did not come: " + call_text(case_.calls[i].input);
      if (const auto first = case_.calls[i].attempt_of)
        out.text += " (attempt " + std::to_string(attempt_number(i)) + " of call " +
                    std::to_string(*first) + ")";
      found_.push_back({i, std::move(out)});
    }
  }

  // Edges say something only where all calls came.
  void order() {
    if (!found_.empty()) return;
    for (const auto& [before, after] : matcher_.broken()) {
      Difference out = of_call(DifferenceKind::kOrder, after);
      out.before = before;
      out.text = "call " + std::to_string(after) + ", " + call_text(case_.calls[after].input) +
                 ", came before call " + std::to_string(before) + " was answered, " +
                 call_text(case_.calls[before].input);
      found_.push_back({before, std::move(out)});
    }
  }

  void answer(const Answer& now, const Rules& rules) {
    Difference out;
    out.fields = differences(answer_fields(case_.answer, case_.request, rules),
                             answer_fields(now, case_.request, rules));
    if (out.fields.empty()) return;
    out.text = "the answer is another: " + to_text(out.fields);
    found_.push_back({kLast, std::move(out)});
  }

  std::vector<Difference> take() {
    std::stable_sort(found_.begin(), found_.end(), [](const Placed& a, const Placed& b) {
      if (a.place != b.place) return a.place < b.place;
      return rank_of(a.difference.kind) < rank_of(b.difference.kind);
    });
    std::vector<Difference> out;
    for (Placed& each : found_) out.push_back(std::move(each.difference));
    return out;
  }

 private:
  bool is_paired(size_t place) const {
    return std::find(paired_.begin(), paired_.end(), place) != paired_.end();
  }

  // A recorded call of the same point that did not come: one from the same site first.
  std::optional<size_t> left_like(const Matcher::Arrival& arrival) const {
    std::optional<size_t> first;
    for (size_t i = 0; i < matcher_.pool().size(); ++i) {
      if (matcher_.pool().is_taken(i) || is_paired(i) ||
          matcher_.pool().keys(i).point != arrival.keys.point)
        continue;
      if (case_.calls[i].site == arrival.call.site) return i;
      if (!first) first = i;
    }
    return first;
  }

  static bool same_method(const CallInput& a, const CallInput& b) {
    return a.kind == Kind::kHttp && b.kind == Kind::kHttp && a.to == b.to &&
           a.http.method == b.http.method;
  }

  size_t number_of_extras_like(size_t arrival) const {
    const std::vector<Matcher::Arrival>& all = matcher_.arrivals();
    return static_cast<size_t>(std::count_if(found_.begin(), found_.end(), [&](const Placed& each) {
      return each.difference.kind == DifferenceKind::kExtra &&
             same_method(all[*each.difference.arrival].call.input, all[arrival].call.input);
    }));
  }

  // The recorded call that was due when this one came, if it did not come, or the only one that did not.
  std::optional<size_t> left_at(const Matcher::Arrival& arrival) const {
    std::optional<size_t> only, due;
    size_t left = 0;
    for (size_t i = 0; i < matcher_.pool().size(); ++i) {
      if (matcher_.pool().is_taken(i) || is_paired(i)) continue;
      ++left;
      if (!same_method(case_.calls[i].input, arrival.call.input)) continue;
      only = i;
      if (i == arrival.taken_before) due = i;
    }
    return due ? due : left == 1 ? only : std::nullopt;
  }

  void input(const Matcher::Arrival& arrival, size_t number, size_t place) {
    found_.push_back({arrival.taken_before, input_difference(arrival, number, place)});
  }

  Difference input_difference(const Matcher::Arrival& arrival, size_t number, size_t place) {
    paired_.push_back(place);
    Difference out = of_call(DifferenceKind::kInput, place);
    out.arrival = number;
    out.fields = differences(matcher_.pool().fields(place), arrival.fields);
    out.text =
        "call " + std::to_string(place) + ", " + call_text(case_.calls[place].input) +
        ", brings something else: " + (out.fields.empty() ? arrival.problem : to_text(out.fields));
    return out;
  }

  void extra(const Matcher::Arrival& arrival, size_t number) {
    Difference out;
    out.kind = DifferenceKind::kExtra;
    out.arrival = number;
    out.text = arrival.problem;
    found_.push_back({arrival.taken_before, std::move(out)});
  }

  Difference of_call(DifferenceKind kind, size_t place) const {
    Difference out;
    out.kind = kind;
    out.call = place;
    out.line = case_.calls[place].line;
    return out;
  }

  // From 1.
  size_t attempt_number(size_t place) const {
    const size_t first = *case_.calls[place].attempt_of;
    size_t out = 1;
    for (size_t i = first + 1; i <= place; ++i) out += case_.calls[i].attempt_of == first ? 1 : 0;
    return out;
  }

  const Case& case_;
  const Matcher& matcher_;
  std::vector<size_t> paired_;
  std::vector<Placed> found_;
};

// Why nothing can be concluded; "": something can.
std::string doubt_of(const Matcher& matcher, const EntryEnd& end,
                     const std::vector<std::string>& doubts) {
  if (!end.not_sent.empty()) return "the request could not be sent: " + end.not_sent;
  if (!doubts.empty()) return doubts.front();
  for (const Matcher::Arrival& arrival : matcher.arrivals()) {
    // Whether the process does this by itself, or the case does, is not known.
    if (arrival.call.cause == Cause::kUnseen) return arrival.problem;
    if (arrival.of_process && arrival.missed())
      return "the process made a call that is not recorded of it: " + arrival.problem;
  }
  return "";
}

}  // namespace

std::string_view difference_name(DifferenceKind kind) {
  switch (kind) {
    case DifferenceKind::kOrder:
      return "order";
    case DifferenceKind::kInput:
      return "input";
    case DifferenceKind::kMissing:
      return "missing";
    case DifferenceKind::kExtra:
      return "extra";
    case DifferenceKind::kAnswer:
      break;
  }
  return "answer";
}

Verdict judge(const Case& of, const Matcher& matcher, const EntryEnd& end, const Rules& rules,
              const std::vector<std::string>& doubts) {
  Verdict out;
  out.recorded = of.calls.size();
  out.served = matcher.pool().taken();
  out.arrived = static_cast<size_t>(
      std::count_if(matcher.arrivals().begin(), matcher.arrivals().end(),
                    [](const Matcher::Arrival& each) { return !each.of_process; }));
  Comparison comparison(of, matcher);
  comparison.misses();
  comparison.moved_calls();
  comparison.left_calls();
  comparison.order();
  if (end.not_sent.empty()) comparison.answer(end.answer, rules);
  out.differences = comparison.take();
  out.why = doubt_of(matcher, end, doubts);
  out.judged = !out.why.empty()          ? Judged::kNoConclusion
               : out.differences.empty() ? Judged::kPassed
                                         : Judged::kDiffers;
  return out;
}

Judged judge_set(const std::vector<Verdict>& verdicts) {
  size_t arrived = 0, recorded = 0;
  bool differs = false, doubtful = verdicts.empty();
  for (const Verdict& each : verdicts) {
    arrived += each.arrived;
    recorded += each.recorded;
    differs = differs || each.judged == Judged::kDiffers;
    doubtful = doubtful || each.judged == Judged::kNoConclusion;
  }
  if (recorded != 0 && arrived == 0) return Judged::kNoConclusion;
  if (differs) return Judged::kDiffers;
  return doubtful ? Judged::kNoConclusion : Judged::kPassed;
}

}  // namespace filibuster::cases
