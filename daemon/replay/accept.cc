#include "daemon/replay/accept.h"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

namespace filibuster::replay {
namespace {

using cases::Call;
using cases::Case;
using cases::Difference;
using cases::DifferenceKind;

// What waited for a call that is gone waits for what that call waited for.
std::vector<size_t> waits_for(const Case& of, const std::set<size_t>& gone, size_t place) {
  std::vector<size_t> open = of.calls[place].after, out;
  while (!open.empty()) {
    const size_t before = open.back();
    open.pop_back();
    if (gone.contains(before)) {
      const std::vector<size_t>& further = of.calls[before].after;
      open.insert(open.end(), further.begin(), further.end());
    } else {
      out.push_back(before);
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

Case without(const Case& of, const std::set<size_t>& gone) {
  std::vector<size_t> places(of.calls.size());
  size_t next = 0;
  for (size_t i = 0; i < of.calls.size(); ++i) places[i] = gone.contains(i) ? 0 : next++;
  Case out = of;
  out.calls.clear();
  for (size_t i = 0; i < of.calls.size(); ++i) {
    if (gone.contains(i)) continue;
    Call call = of.calls[i];
    call.after = waits_for(of, gone, i);
    for (size_t& each : call.after) each = places[each];
    if (call.attempt_of)
      call.attempt_of =
          gone.contains(*call.attempt_of) ? std::nullopt : std::optional(places[*call.attempt_of]);
    out.calls.push_back(std::move(call));
  }
  return out;
}

}  // namespace

Result<Case> accepted(const Case& of, const cases::Verdict& verdict, const cases::Answer& answer,
                      const std::function<cases::CallInput(size_t)>& arrived) {
  Case out = of;
  std::set<size_t> gone;
  bool has_other_input = false;
  for (const Difference& each : verdict.differences) {
    if (each.kind == DifferenceKind::kExtra)
      return Error{
          "nobody knows what the new call is answered; record the case again (`filibuster "
          "record`)"};
    if (!each.call) continue;
    if (each.kind == DifferenceKind::kInput && each.arrival) {
      out.calls[*each.call].input = arrived(*each.arrival);
      has_other_input = true;
    } else if (each.kind == DifferenceKind::kMissing) {
      gone.insert(*each.call);
    } else if (each.kind == DifferenceKind::kOrder && each.before) {
      std::erase(out.calls[*each.call].after, *each.before);
    }
  }
  // Behind a call that had no answer the service did something else than it will do.
  if (has_other_input) return out;
  out.answer = answer;
  return gone.empty() ? out : without(out, gone);
}

}  // namespace filibuster::replay
