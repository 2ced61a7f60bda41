#include "daemon/property/schedule.h"

#include <algorithm>

namespace filibuster::property {
namespace {

bool conflict(const CallOfCommand& a, const CallOfCommand& b, bool by_path) {
  return a.edge.service == b.edge.service && (a.writes || b.writes) &&
         (!by_path || a.path == b.path);
}

using Calls = std::vector<CallOfCommand>;

bool any_conflict(Calls::const_iterator begin, Calls::const_iterator end, const Calls& others,
                  bool by_path) {
  return std::any_of(begin, end, [&](const CallOfCommand& a) {
    return std::any_of(others.begin(), others.end(),
                       [&](const CallOfCommand& b) { return conflict(a, b, by_path); });
  });
}

std::vector<Hold> preemptions_by(const std::vector<CommandCalls>& block, bool by_path) {
  std::vector<Hold> out;
  for (const CommandCalls& stops : block) {
    for (const CommandCalls& goes_on : block) {
      if (&stops == &goes_on) continue;
      for (auto next = stops.calls.begin(); next != stops.calls.end(); ++next) {
        if (!any_conflict(stops.calls.begin(), next, goes_on.calls, by_path) ||
            !any_conflict(next, stops.calls.end(), goes_on.calls, by_path))
          continue;
        const auto of_edge = [&](const CallOfCommand& call) { return call.edge == next->edge; };
        const auto before = std::count_if(stops.calls.begin(), next, of_edge);
        out.push_back(
            {stops.command, next->edge, static_cast<uint32_t>(before) + 1, goes_on.command});
      }
    }
  }
  return out;
}

template <typename Rows>
void shuffle(Rows* rows, Random* random) {
  for (size_t left = rows->size(); left > 1; --left)
    std::swap((*rows)[left - 1], (*rows)[random->below(left)]);
}

}  // namespace

std::vector<Hold> preemptions(const std::vector<CommandCalls>& block) {
  std::vector<Hold> out = preemptions_by(block, true);
  return out.empty() ? preemptions_by(block, false) : out;
}

std::vector<std::vector<Hold>> schedules(const std::vector<std::vector<CommandCalls>>& blocks,
                                         uint64_t bound, Random* random) {
  std::vector<std::vector<Hold>> once, twice;
  for (const std::vector<CommandCalls>& block : blocks) {
    const std::vector<Hold> holds = preemptions(block);
    for (const Hold& first : holds) {
      once.push_back({first});
      for (const Hold& second : holds) {
        if (second.command == first.until && second.until == first.command)
          twice.push_back({first, second});
      }
    }
  }
  if (bound < 1) return {};
  shuffle(&once, random);
  shuffle(&twice, random);
  if (bound > 1) once.insert(once.end(), twice.begin(), twice.end());
  return once;
}

}  // namespace filibuster::property
