// The reference execution, run again: at the end of a search, and in a long one now and then. An application in which a state
// has built up under the faults (a breaker that is open) hides from all later executions what stands behind it. These
// executions count in no figure.
#include <algorithm>

#include "daemon/explore/explorer.h"
#include "daemon/report/again.h"

namespace filibuster {
namespace {

using Clock = std::chrono::steady_clock;

// In a long search: after so many executions, if all of it takes no more than this part of the time.
constexpr uint64_t kBetween = 100;
constexpr double kPart = 0.02;

double seconds_since(Clock::time_point then) {
  return std::chrono::duration<double>(Clock::now() - then).count();
}

// Judges an execution without faults: `what` is empty where it did what the reference execution did.
void add_failure(const Judgement& judgement, std::vector<std::string>* what) {
  if (is_failure(judgement.verdict))
    what->insert(what->begin(), "the test fails without any fault (" + judgement.detail + ")");
}

}  // namespace

// With one reference execution nothing is compared: what the second one shows was never looked at.
bool Explorer::compares_references() const {
  return config_.bounds.reference_executions > 1;
}

Result<bool> Explorer::look_again_in_between() {
  if (!compares_references() || since_look_ < kBetween) return true;
  const double one = exploration_.report.reference_seconds;
  if (look_seconds_ + one > kPart * seconds_since(search_began_)) return true;
  return look_again(TestStarter::Start::kBest);
}

Result<bool> Explorer::look_again_at_the_end() {
  if (!compares_references() || since_look_ == 0 || !ended_by_hand_.empty()) return true;
  auto looked = look_again(TestStarter::Start::kPlain);
  if (!looked || !looked.value() || !pool_) return looked;
  // Each lane has services of its own, and a state of its own.
  const LanePool::Hold hold(pool_.get(), LanePool::Hold::Which::kAll);
  Result<bool> all = true;
  pool_->each_further([&](Lane& lane, TestRun& run) {
    if (!all.ok() || !all.value()) return;
    all = look_at(lane.place().number, [&] { return run.attempt({}, [](const Attempt&) {}); });
  });
  return all;
}

Result<bool> Explorer::look_again(TestStarter::Start start) {
  const auto began = Clock::now();
  TestStarter::Start how = start;
  auto looked =
      look_at(0, [&] { return attempt({}, std::exchange(how, TestStarter::Start::kPlain)); });
  since_look_ = 0;
  look_seconds_ += seconds_since(began);
  return looked;
}

// `run` makes an execution without faults on this lane. False: stopped.
Result<bool> Explorer::look_at(uint32_t lane, const std::function<Result<Attempt>()>& run) {
  Differences differences;
  uint32_t number = 0, first = 0;
  // What differs once may vary by itself, or come late from the execution before.
  for (int times = 0; times < 2; ++times) {
    auto one = run();
    if (!one) return one.error();
    if (one->result.stopped) return false;
    number = one->result.record.execution;
    if (times == 0) first = number;
    drifts_.looked(number);
    if (is_inconclusive(one->judgement.verdict)) return true;
    ExecutionRecord record = std::move(one->result.record);
    if (lane != 0 && !read_as_of_lane_0(one.value(), &record)) return true;
    if (lane == 0) note_appearances(record);
    auto found = memory_.differences(record);
    if (!found) return found.error();
    differences = std::move(found).value();
    add_failure(one->judgement, &differences.what);
    if (!differences.what.empty()) continue;
    if (times > 0)
      evidence_.note(
          "execution " + std::to_string(first) +
          " without faults differed from the reference execution, and the next one did not");
    break;
  }
  // The same calls with the same statuses: rather a value that varies slowly (a clock, a counter) than a state that hides something.
  if (!differences.what.empty() && differences.answers == differences.what.size()) {
    evidence_.note(
        "run again without faults: " + differences.what.front() +
        (differences.what.size() == 1
             ? ""
             : ", and " + std::to_string(differences.what.size() - 1) + " more") +
        ", after the same calls: does it hold a time or a counter? `nondeterminism` names what is not to be compared");
    differences = {};
  }
  if (differences.what.empty()) {
    if (lane != 0) return true;
    if (auto noted = drifts_.as_before(number); !noted) return noted.error();
    return true;
  }
  auto noted = drifts_.differed(lane, number, differences.what,
                                [&] { return last_seen_as_before(differences); });
  if (!noted) return noted.error();
  return true;
}

// The number of the last execution of the search that still showed what has changed; where several things have, of the first
// of them. 0: none did.
uint32_t Explorer::last_seen_as_before(const Differences& differences) {
  std::vector<uint32_t> last(differences.lost.size(), 0);
  for (const search::AbstractId id : dispatcher_->search().concluded()) {
    const auto result = results_.find(id);
    if (result == results_.end()) continue;
    for (const search::ObservedRpc& rpc : dispatcher_->search().observed(id)) {
      for (size_t i = 0; i < last.size(); ++i) {
        const auto& [index, outcome] = differences.lost[i];
        if (rpc.index == index && (outcome.empty() || store_->outcome_text(rpc.outcome) == outcome))
          last[i] = std::max(last[i], result->second.number);
      }
    }
  }
  return last.empty() ? 0 : *std::min_element(last.begin(), last.end());
}

}  // namespace filibuster
