#include "daemon/explore/reference_watch.h"

#include <algorithm>
#include <utility>

#include "daemon/report/again.h"

namespace filibuster {
namespace {

// In a long search: after so many executions, if all of it takes no more than this part of the time.
constexpr uint64_t kBetween = 100;
constexpr double kPart = 0.02;

double seconds_since(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

// Judges an execution without faults: `what` is empty where it did what the reference execution did.
void add_failure(const Judgement& judgement, std::vector<std::string>* what) {
  if (is_failure(judgement.verdict))
    what->insert(what->begin(), "the test fails without any fault (" + judgement.detail + ")");
}

}  // namespace

// With one reference execution nothing is compared: what the second one shows was never looked at.
bool ReferenceWatch::compares_references() const {
  return state_.config.bounds.reference_executions > 1;
}

Result<Flow> ReferenceWatch::look_in_between() {
  if (!compares_references() || since_look_ < kBetween) return Flow::kGoesOn;
  const double one = state_.report.reference_seconds;
  if (look_seconds_ + one > kPart * seconds_since(search_began_)) return Flow::kGoesOn;
  return look(TestStarter::Start::kBest);
}

Result<Flow> ReferenceWatch::look_at_the_end() {
  if (!compares_references() || since_look_ == 0 || !state_.ended_by_hand.empty())
    return Flow::kGoesOn;
  auto looked = look(TestStarter::Start::kPlain);
  if (!looked || looked.value() == Flow::kStopped || executor_.lanes() == nullptr) return looked;
  // Each lane has services of its own, and a state of its own.
  const LanePool::Hold hold(executor_.lanes(), LanePool::Hold::Which::kAll);
  Result<Flow> all = Flow::kGoesOn;
  executor_.lanes()->each_further([&](Lane& lane, TestRun& run) {
    if (!all.ok() || all.value() == Flow::kStopped) return;
    all = look_at(lane.place().number, [&] { return run.attempt({}, [](const Attempt&) {}); });
  });
  return all;
}

Result<Flow> ReferenceWatch::look(TestStarter::Start start) {
  const auto began = Clock::now();
  TestStarter::Start how = start;
  auto looked = look_at(
      0, [&] { return executor_.attempt({}, std::exchange(how, TestStarter::Start::kPlain)); });
  since_look_ = 0;
  look_seconds_ += seconds_since(began);
  return looked;
}

Result<Flow> ReferenceWatch::look_at(uint32_t lane, const std::function<Result<Attempt>()>& run) {
  Differences differences;
  uint32_t number = 0, first = 0;
  // What differs once may vary by itself, or come late from the execution before.
  for (int times = 0; times < 2; ++times) {
    auto one = run();
    if (!one) return one.error();
    if (one->result.stopped) return Flow::kStopped;
    number = one->result.record.execution;
    if (times == 0) first = number;
    state_.drifts.looked(number);
    if (is_inconclusive(one->judgement.verdict)) return Flow::kGoesOn;
    ExecutionRecord record = std::move(one->result.record);
    if (lane != 0 && !executor_.read_as_of_lane_0(one.value(), &record)) return Flow::kGoesOn;
    if (lane == 0) state_.note_appearances(record);
    auto found = state_.memory.differences(record);
    if (!found) return found.error();
    differences = std::move(found).value();
    add_failure(one->judgement, &differences.what);
    if (!differences.what.empty()) continue;
    if (times > 0)
      state_.evidence.note(
          "execution " + std::to_string(first) +
          " without faults differed from the reference execution, and the next one did not");
    break;
  }
  // The same calls with the same statuses: rather a value that varies slowly (a clock, a counter) than a state that hides something.
  if (!differences.what.empty() && differences.answers == differences.what.size()) {
    state_.evidence.note(
        "run again without faults: " + differences.what.front() +
        (differences.what.size() == 1
             ? ""
             : ", and " + std::to_string(differences.what.size() - 1) + " more") +
        ", after the same calls: does it hold a time or a counter? `nondeterminism` names what is not to be compared");
    differences = {};
  }
  if (differences.what.empty()) {
    if (lane != 0) return Flow::kGoesOn;
    if (auto noted = state_.drifts.as_before(number); !noted) return noted.error();
    return Flow::kGoesOn;
  }
  auto noted = state_.drifts.differed(lane, number, differences.what,
                                      [&] { return last_seen_as_before(differences); });
  if (!noted) return noted.error();
  return Flow::kGoesOn;
}

uint32_t ReferenceWatch::last_seen_as_before(const Differences& differences) {
  std::vector<uint32_t> last(differences.lost.size(), 0);
  for (const search::AbstractId id : state_.dispatcher->search().concluded()) {
    const EndedExecution* ended = state_.ended.find(id);
    if (ended == nullptr) continue;
    for (const search::ObservedRpc& rpc : state_.dispatcher->search().observed(id)) {
      for (size_t i = 0; i < last.size(); ++i) {
        const auto& [index, outcome] = differences.lost[i];
        if (rpc.index == index &&
            (outcome.empty() || state_.store->outcome_text(rpc.outcome) == outcome))
          last[i] = std::max(last[i], ended->number);
      }
    }
  }
  return last.empty() ? 0 : *std::min_element(last.begin(), last.end());
}

}  // namespace filibuster
