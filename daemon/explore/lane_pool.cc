#include "daemon/explore/lane_pool.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace filibuster {
namespace {

constexpr int kStarts = 2;         // of a lane that breaks
constexpr size_t kFurthest = 256;  // executions ahead
constexpr size_t kMostDone = 512;  // results that nobody has asked for yet

}  // namespace

LanePool::LanePool(Options options) : options_(std::move(options)) {
  for (uint32_t number = 0; number < options_.lanes; ++number) {
    Worker& worker = *workers_.emplace_back(std::make_unique<Worker>());
    worker.number = number;
    if (number != 0) continue;
    worker.lane = options_.first_lane;
    worker.run = options_.first;
    worker.state = Worker::State::kIdle;
  }
  for (const auto& worker : workers_)
    worker->thread = std::thread([this, one = worker.get()] { work(one); });
}

LanePool::~LanePool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    pending_.clear();
  }
  changed_.notify_all();
  for (const auto& worker : workers_) worker->thread.join();
}

// Starts the lane, and takes the samples by which it is compared with lane 0.
Result<void> LanePool::start(Worker* worker) {
  auto lane = options_.further->get(worker->number);
  if (!lane) return lane.error();
  worker->lane = lane.value();
  options_.prepare(*worker->lane);
  worker->test = test_of_lane(*options_.test, options_.first_lane->place(), worker->lane->place());
  auto run = TestRun::make(options_.session, worker->lane, worker->test, *options_.config);
  if (!run) return run.error();
  worker->own = std::move(run).value();
  worker->run = worker->own.get();
  worker->run->set_reference_seconds(options_.first->reference_seconds());
  worker->run->set_usual_acts(options_.first->usual_acts());
  worker->samples.clear();
  auto plain = worker->run->settle();
  if (!plain) return plain.error();
  worker->samples.push_back(std::move(plain).value());
  return find_way(worker);
}

// Takes a sample in the way that is found.
Result<void> LanePool::find_way(Worker* worker) {
  if (options_.first->starter().way() == Way::kPlain) return {};
  TestStarter& starter = worker->run->starter();
  if (auto found = starter.find_way(worker->run->limit(), worker->lane->place().wake_fd); !found)
    return found;
  if (starter.way() == Way::kPlain) return {};
  const TestStarter& first = options_.first->starter();
  if (starter.way() == Way::kReset && first.way() != Way::kReset)
    starter.fall_back(first.why_not_reset());
  auto forked = worker->run->execute_once({}, TestStarter::Start::kBest);
  if (!forked) return forked.error();
  worker->samples.push_back(std::move(forked).value());
  return {};
}

bool LanePool::is_held(const Worker& worker) const {
  return hold_all_ > 0 || (worker.number == 0 && hold_first_ > 0);
}

// Precondition of all that follow but work(): mutex_ is held.
// The number of lanes in use before this one.
uint32_t LanePool::rank(const Worker& worker) const {
  return static_cast<uint32_t>(
      std::count_if(workers_.begin(), workers_.end(), [&](const auto& one) {
        return one->number < worker.number && one->state != Worker::State::kGone;
      }));
}

bool LanePool::may_begin(const Worker& worker) const {
  return !is_held(worker) && (!trial_ || rank(worker) < trial_->allowed());
}

void LanePool::begin_trial() {
  const auto ready = [](const auto& one) {
    return one->state == Worker::State::kIdle || one->state == Worker::State::kBusy;
  };
  if (trial_ || lost_lane_ || !std::all_of(workers_.begin(), workers_.end(), ready)) return;
  const auto busy = std::count_if(workers_.begin(), workers_.end(), [](const auto& one) {
    return one->state == Worker::State::kBusy;
  });
  trial_.emplace(static_cast<uint32_t>(workers_.size()), static_cast<uint32_t>(busy));
}

void LanePool::tell_trial(void (LaneTrial::*what)(double)) {
  if (!trial_) return;
  using Seconds = std::chrono::duration<double>;
  const size_t decided = trial_->decisions().size();
  (*trial_.*what)(Seconds(std::chrono::steady_clock::now().time_since_epoch()).count());
  if (trial_->decisions().size() > decided) problems_.push_back(trial_->decisions().back());
}

void LanePool::give_up(Worker* worker, const std::string& why) {
  worker->state = Worker::State::kGone;
  lost_lane_ = true;
  trial_.reset();
  problems_.push_back("lane " + std::to_string(worker->number) + " is not used: " + why);
}

void LanePool::begin_anew(Worker* worker, std::unique_lock<std::mutex>* lock) {
  worker->state = Worker::State::kStarting;
  worker->starts_now = true;
  lock->unlock();
  worker->own.reset();
  options_.further->drop(worker->number);
  lock->lock();
  worker->starts_now = false;
}

void LanePool::work(Worker* worker) {
  using State = Worker::State;
  std::unique_lock lock(mutex_);
  while (!stopping_ && worker->state != State::kGone) {
    if (worker->state == State::kStarting && hold_starts_ == 0 && hold_all_ == 0) {
      worker->starts_now = true;
      lock.unlock();
      auto started = worker->own ? find_way(worker) : start(worker);
      lock.lock();
      worker->starts_now = false;
      worker->state = State::kToCompare;
      if (!started && ++worker->starts >= kStarts) {
        give_up(worker, started.error().message);
      } else if (!started) {
        begin_anew(worker, &lock);
      }
      changed_.notify_all();
      continue;
    }
    if (worker->state == State::kIdle && trial_ && rank(*worker) >= trial_->kept()) {
      worker->state = State::kGivenUp;
      break;
    }
    if (worker->state == State::kIdle && std::exchange(worker->finds_way, false)) {
      worker->samples.clear();
      worker->state = State::kStarting;
      continue;
    }
    if (worker->state != State::kIdle || pending_.empty() || !may_begin(*worker)) {
      changed_.wait(lock);
      continue;
    }
    Plan plan = std::move(pending_.front());
    pending_.pop_front();
    running_.push_back(plan);
    worker->state = State::kBusy;
    tell_trial(&LaneTrial::began);
    const uint64_t epoch = epoch_;
    lock.unlock();
    auto result = worker->run->execute_once(plan, TestStarter::Start::kBest);
    lock.lock();
    worker->state = State::kIdle;
    tell_trial(&LaneTrial::ended);
    running_.erase(std::find(running_.begin(), running_.end(), plan));
    if (!result && worker->number != 0) {
      // The lane is replaced, and another one runs the plan.
      pending_.push_front(std::move(plan));
      if (++worker->starts >= kStarts) {
        give_up(worker, result.error().message);
      } else {
        begin_anew(worker, &lock);
      }
    } else if (epoch == epoch_) {
      ++finished_;
      done_.emplace_back(std::move(plan), std::move(result));
    }
    changed_.notify_all();
  }
  // The snapshots of this lane end with its thread.
  const bool given_up = worker->state == State::kGivenUp;
  lock.unlock();
  if (worker->own) worker->own->starter().end_snapshots();
  if (!given_up) return;
  worker->own.reset();
  options_.further->give_up(worker->number);
}

// Lanes that have just come are compared with lane 0 before they run anything.
void LanePool::compare_new_lanes(std::unique_lock<std::mutex>* lock) {
  for (const auto& worker : workers_) {
    if (worker->state != Worker::State::kToCompare) continue;
    lock->unlock();
    std::string why;
    for (const Attempt& sample : worker->samples) {
      if (why.empty()) why = options_.compare(sample);
    }
    lock->lock();
    options_.further->compared(worker->number, why.empty());
    if (why.empty()) {
      worker->state = Worker::State::kIdle;
      begin_trial();
    } else {
      give_up(worker.get(), why);
    }
    changed_.notify_all();
  }
}

bool LanePool::is_known(const Plan& plan) const {
  const auto is_it = [&](const auto& entry) { return entry.first == plan; };
  return std::any_of(done_.begin(), done_.end(), is_it) ||
         std::find(running_.begin(), running_.end(), plan) != running_.end() ||
         std::find(pending_.begin(), pending_.end(), plan) != pending_.end();
}

bool LanePool::has_idle_lane() const {
  return pending_.empty() && std::any_of(workers_.begin(), workers_.end(), [&](const auto& worker) {
           return worker->state == Worker::State::kIdle && may_begin(*worker);
         });
}

Result<void> LanePool::look_ahead(const Ahead& ahead, size_t most,
                                  std::unique_lock<std::mutex>* lock) {
  if (done_.size() >= kMostDone) return {};
  lock->unlock();
  auto next = ahead(most);
  lock->lock();
  if (!next) return next.error();
  for (Plan& plan : next.value()) {
    if (!is_known(plan)) pending_.push_back(std::move(plan));
  }
  changed_.notify_all();
  return {};
}

Result<Attempt> LanePool::run(const Plan& plan, const Ahead& ahead) {
  std::unique_lock lock(mutex_);
  ++asked_;
  pending_.clear();
  if (!is_known(plan)) pending_.push_back(plan);
  changed_.notify_all();
  for (size_t most = 2 * workers_.size();; most = std::min(2 * most, kFurthest)) {
    if (auto looked = look_ahead(ahead, most, &lock); !looked) return looked.error();
    for (bool idle = false; !idle;) {
      compare_new_lanes(&lock);
      const auto found = std::find_if(done_.begin(), done_.end(),
                                      [&](const auto& entry) { return entry.first == plan; });
      if (found != done_.end()) {
        Result<Attempt> out = std::move(found->second);
        done_.erase(found);
        return out;
      }
      idle = most < kFurthest && has_idle_lane();
      if (!idle) changed_.wait(lock);
    }
  }
}

LanePool::Hold::Hold(LanePool* pool, Which which) : pool_(pool), which_(which) {
  if (pool_ == nullptr) return;
  std::unique_lock lock(pool_->mutex_);
  ++(which_ == Which::kAll ? pool_->hold_all_ : pool_->hold_first_);
  if (which_ == Which::kFirstAndStarts) ++pool_->hold_starts_;
  if (pool_->trial_) pool_->trial_->interrupted();
  pool_->changed_.wait(lock, [&] {
    return std::none_of(pool_->workers_.begin(), pool_->workers_.end(), [&](const auto& worker) {
      const bool held = which_ == Which::kAll || worker->number == 0;
      return (held && worker->state == Worker::State::kBusy) ||
             ((held || which_ == Which::kFirstAndStarts) && worker->starts_now);
    });
  });
  if (which_ != Which::kAll) return;
  pool_->pending_.clear();
  pool_->done_.clear();
  ++pool_->epoch_;
}

LanePool::Hold::~Hold() {
  if (pool_ == nullptr) return;
  const std::lock_guard lock(pool_->mutex_);
  --(which_ == Which::kAll ? pool_->hold_all_ : pool_->hold_first_);
  if (which_ == Which::kFirstAndStarts) --pool_->hold_starts_;
  pool_->changed_.notify_all();
}

void LanePool::each_further(const std::function<void(Lane&, TestRun&)>& change) {
  for (const auto& worker : workers_) {
    if (worker->number != 0 && worker->own && worker->state != Worker::State::kGone &&
        worker->state != Worker::State::kGivenUp)
      change(*worker->lane, *worker->own);
  }
}

void LanePool::find_ways() {
  const std::lock_guard lock(mutex_);
  // What was measured so far were plain starts.
  trial_.reset();
  for (const auto& worker : workers_)
    worker->finds_way = worker->state == Worker::State::kIdle ||
                        worker->state == Worker::State::kBusy ||
                        worker->state == Worker::State::kToCompare;
  workers_.front()->finds_way = false;
  changed_.notify_all();
}

void LanePool::compare_all() {
  std::unique_lock lock(mutex_);
  while (true) {
    compare_new_lanes(&lock);
    const bool starting = std::any_of(workers_.begin(), workers_.end(), [](const auto& worker) {
      return worker->state == Worker::State::kStarting ||
             worker->state == Worker::State::kToCompare;
    });
    if (!starting) return;
    changed_.wait(lock);
  }
}

uint32_t LanePool::lanes_used() const {
  const std::lock_guard lock(mutex_);
  return static_cast<uint32_t>(
      std::count_if(workers_.begin(), workers_.end(), [](const auto& worker) {
        return worker->state == Worker::State::kIdle || worker->state == Worker::State::kBusy ||
               worker->state == Worker::State::kGivenUp;
      }));
}

uint64_t LanePool::thrown_away() const {
  const std::lock_guard lock(mutex_);
  return finished_ > asked_ ? finished_ - asked_ : 0;
}

std::vector<std::string> LanePool::problems() const {
  const std::lock_guard lock(mutex_);
  return problems_;
}

}  // namespace filibuster
