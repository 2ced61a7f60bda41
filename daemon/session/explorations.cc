#include "daemon/session/explorations.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

namespace filibuster {

void Explorations::warn(const std::string& text) const {
  options_.sink({{"type", "warning"}, {"text", text}});
}

Explorations::Place* Explorations::begin(const Lane& lane,
                                         const std::shared_ptr<Questions>& questions) {
  const SessionRequest& request = *options_.request;
  const std::lock_guard lock(mutex_);
  Place& place = places_[lane.place().number];
  if (!place.descriptors) {
    place.descriptors = std::make_shared<ServiceDescriptors>(
        request.config, lane.place().ports, request.descriptors, request.learnt_descriptors);
  }
  place.questions = questions;
  return &place;
}

std::shared_ptr<ServiceDescriptors> Explorations::asked(uint32_t lane, const FaultQuery& query) {
  const std::lock_guard lock(mutex_);
  // One after the other, the exploration of lane 0 uses the other lanes, too.
  const auto place = places_.find(side_by_side_.empty() ? 0 : lane);
  if (place == places_.end()) return nullptr;
  if (place->second.questions) place->second.questions->asked(query);
  return place->second.descriptors;
}

std::shared_ptr<ServiceDescriptors> Explorations::descriptors() const {
  const std::lock_guard lock(mutex_);
  const auto place = places_.find(0);
  return place == places_.end() ? nullptr : place->second.descriptors;
}

ExecutionRecord Explorations::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

bool Explorations::resumed() const {
  const std::lock_guard lock(mutex_);
  return std::any_of(done_.begin(), done_.end(),
                     [](const auto& one) { return one.second.resumed; });
}

bool Explorations::is_stopped() const {
  const std::lock_guard lock(mutex_);
  return std::any_of(done_.begin(), done_.end(),
                     [](const auto& one) { return one.second.stopped; });
}

void Explorations::show(size_t number, TestReport running) {
  std::vector<TestReport> all;
  {
    const std::lock_guard lock(mutex_);
    running_[number] = std::move(running);
    for (size_t i = 0; i < options_.request->tests.size(); ++i) {
      if (const auto ended = done_.find(i); ended != done_.end()) {
        all.push_back(ended->second.report);
      } else if (const auto one = running_.find(i); one != running_.end()) {
        all.push_back(one->second);
      }
    }
  }
  options_.show(std::move(all));
}

bool Explorations::is_over() const {
  return options_.end && Clock::now() >= *options_.end && !options_.mode->keeps_deadline();
}

std::unique_ptr<Explorations::Running> Explorations::prepare(Lane* lane, size_t number) {
  const SessionRequest& request = *options_.request;
  auto out = std::make_unique<Running>();
  out->number = number;
  out->lane = lane;
  out->questions = std::make_shared<Questions>(request.config);
  ServiceDescriptors* const descriptors = begin(*lane, out->questions)->descriptors.get();
  out->session.emplace(
      SessionContext{request.config, request.config_text, options_.sink,
                     [this, questions = out->questions, descriptors](ExecutionRecord* record) {
                       for (std::string& note : descriptors->learn(record))
                         record->notes.push_back(std::move(note));
                       const std::lock_guard lock(mutex_);
                       questions->saw(*record);
                       last_ = *record;
                     },
                     descriptors, counters_, request.restart});
  SessionContext& session = *out->session;
  session.page_is_wanted = options_.page_is_wanted;
  session.offer_page = [this, number](TestReport running) { show(number, std::move(running)); };
  const std::string name = request.tests[number].name;
  if (Underway* underway = options_.underway) {
    underway->tries(name, "without faults");
    session.tries = [underway, name](std::string what) { underway->tries(name, std::move(what)); };
  }
  session.baseline = request.baseline;
  session.blocks = options_.blocks;
  session.day = request.day;
  session.suspects = options_.suspects;
  if (side_by_side_.empty()) {
    session.lanes = options_.further == nullptr ? 1 : options_.further->useful();
    session.further_lanes = options_.further;
    session.compare_lanes = request.tests.size() > options_.lanes;
  } else {
    // Several tests speak at the same time.
    session.sink = [this, number](nlohmann::json event) {
      if (event.value("type", "") == "warning") {
        event["text"] =
            "test '" + options_.request->tests[number].name + "': " + event.value("text", "");
      }
      options_.sink(std::move(event));
    };
  }
  out->test = test_of_lane(request.tests[number], first_->place(), lane->place());
  return out;
}

Exploration Explorations::conclude(const Running& running, Exploration exploration) {
  exploration.report.lane = running.lane->place().number;
  tries_nothing(running);
  const bool seen_all = options_.mode->has_seen_all(exploration);
  if (seen_all || options_.mode->ended_at_bound(exploration)) {
    const std::lock_guard lock(mutex_);
    for (std::string& note : running.questions->unmatched(seen_all))
      exploration.report.notes.push_back(std::move(note));
  }
  return exploration;
}

Exploration Explorations::explore(Lane* lane, size_t number) {
  const SessionRequest& request = *options_.request;
  if (is_over()) {
    Exploration left;
    left.report.test = request.tests[number].name;
    left.report.time_over = true;
    return left;
  }
  const std::unique_ptr<Running> running = prepare(lane, number);
  if (options_.end) {
    // The tests that are left share the time that is left.
    const size_t at_once = std::max<size_t>(side_by_side_.size(), 1);
    const size_t left = request.tests.size() - number;
    const size_t rounds = options_.mode->shares_time() ? (left + at_once - 1) / at_once : 1;
    const Clock::time_point now = Clock::now();
    running->session->deadline = now + (*options_.end - now) / static_cast<int64_t>(rounds);
  }
  return conclude(*running, options_.mode->explore(&*running->session, lane, running->test));
}

void Explorations::end(size_t number, Exploration exploration) {
  // The user is told at once. A further lane has no last word: lane 0 explores the test again.
  if (exploration.error && !exploration.stopped && options_.request->tests.size() > 1 &&
      exploration.report.lane == 0) {
    warn("test '" + options_.request->tests[number].name +
         "' was not explored: " + exploration.error->message);
  }
  const std::lock_guard lock(mutex_);
  done_[number] = std::move(exploration);
}

void Explorations::explore_on_all(size_t number) {
  end(number, explore(first_, number));
}

// The first test that may run on this lane.
std::optional<size_t> Explorations::next_test(uint32_t lane) {
  const std::lock_guard lock(mutex_);
  const bool stopped =
      std::any_of(done_.begin(), done_.end(), [](const auto& one) { return one.second.stopped; });
  if (stopped) return std::nullopt;
  for (size_t i = 0; i < taken_.size(); ++i) {
    if (taken_[i]) continue;
    const auto wanted = options_.mode->lane_of(options_.request->tests[i].name);
    if (wanted && *wanted != lane) continue;
    taken_[i] = true;
    return i;
  }
  return std::nullopt;
}

// Null: the user was told why it is not used.
Lane* Explorations::lane_of(uint32_t number) {
  if (number == 0) return first_;
  auto got = options_.further->get(number);
  if (got) return got.value();
  warn("lane " + std::to_string(number) + " is not used: " + got.error().message);
  return nullptr;
}

Exploration Explorations::failed(size_t test, uint32_t lane, const std::exception& failure) const {
  Exploration out;
  out.report.test = options_.request->tests[test].name;
  out.report.lane = lane;
  out.error = Error{std::string("the exploration failed: ") + failure.what()};
  return out;
}

size_t Explorations::left() const {
  const std::lock_guard lock(mutex_);
  return static_cast<size_t>(std::count(taken_.begin(), taken_.end(), false));
}

// On the thread of a lane.
void Explorations::take_tests(uint32_t number) {
  Lane* const lane = lane_of(number);
  if (lane == nullptr) return;
  while (const auto test = next_test(number)) {
    Exploration exploration;
    try {
      exploration = explore(lane, *test);
    } catch (const std::exception& failure) {
      exploration = failed(*test, number, failure);
    }
    end(*test, std::move(exploration));
  }
}

// Precondition: the lanes showed in one test what lane 0 shows.
void Explorations::on_lanes(const std::vector<uint32_t>& further,
                            const std::function<void(uint32_t)>& work) {
  {
    const std::lock_guard lock(mutex_);
    side_by_side_ = {0};
    side_by_side_.insert(side_by_side_.end(), further.begin(), further.end());
  }
  std::vector<std::thread> threads;
  for (const uint32_t number : further) threads.emplace_back([&work, number] { work(number); });
  work(0);
  for (std::thread& thread : threads) thread.join();
  const std::lock_guard lock(mutex_);
  side_by_side_.clear();
}

// What a further lane cannot do is no result: lane 0 decides.
void Explorations::explore_again_on_first() {
  std::vector<size_t> again;
  for (const auto& [number, exploration] : done_) {
    if (exploration.error && exploration.report.lane != 0) again.push_back(number);
  }
  for (const size_t number : again) {
    const Exploration& failed = done_[number];
    if (is_stopped()) return;
    warn("test '" + failed.report.test +
         "' is explored again on lane 0, since it could not be on lane " +
         std::to_string(failed.report.lane) + ": " + failed.error->message);
    explore_on_all(number);
  }
}

void Explorations::explore_side_by_side(const std::vector<uint32_t>& further) {
  on_lanes(further, [this](uint32_t lane) { take_tests(lane); });
  explore_again_on_first();
}

std::unique_ptr<Explorations::Running> Explorations::begin_turns(Lane* lane, size_t number) {
  auto out = prepare(lane, number);
  out->session->deadline = options_.end;
  out->explorer = options_.mode->explorer(&*out->session, lane, out->test);
  try {
    out->explorer->begin();
  } catch (const std::exception& failure) {
    out->explorer->fail(Error{std::string("the exploration failed: ") + failure.what()});
  }
  return out;
}

void Explorations::put_aside(const Running& running) {
  running.explorer->put_aside();
  tries_nothing(running);
}

void Explorations::tries_nothing(const Running& running) {
  if (options_.underway == nullptr) return;
  options_.underway->tries(options_.request->tests[running.number].name, "");
}

// On the thread of a lane, which has `running` already.
void Explorations::take_turns(uint32_t number, std::vector<std::unique_ptr<Running>> running,
                              Turns* turns) {
  // Without its lane it takes no test, and keeps nobody waiting.
  Lane* const lane = lane_of(number);
  const auto goes_on = [&] { return running.empty() || !running.back()->explorer->is_stopped(); };
  while (lane != nullptr && goes_on()) {
    const auto test = running.size() < kMostInTurns ? next_test(number) : std::nullopt;
    if (!test) break;
    if (is_over()) {
      end(*test, explore(lane, *test));
      continue;
    }
    running.push_back(begin_turns(lane, *test));
    put_aside(*running.back());
  }
  std::vector<Turns::Player> players;
  for (const auto& one : running) {
    players.push_back({one->explorer.get(),
                       [this, one = one.get()] {
                         begin(*one->lane, one->questions);
                         one->explorer->take_up();
                       },
                       [this, one = one.get()] { put_aside(*one); }});
  }
  turns->run(players);
  for (size_t i = 0; i < running.size(); ++i) {
    Exploration exploration;
    try {
      players[i].take_up();
      exploration = conclude(*running[i], running[i]->explorer->end());
    } catch (const std::exception& failure) {
      exploration = failed(running[i]->number, number, failure);
    }
    end(running[i]->number, std::move(exploration));
  }
}

// As many tests as may take turns at the same time.
void Explorations::explore_in_turns() {
  std::vector<std::unique_ptr<Running>> running;
  std::vector<uint32_t> further;
  if (options_.further != nullptr && !is_over()) {
    const auto first = next_test(0);
    if (!first) return;
    running.push_back(begin_turns(first_, *first));
    Explorer& explorer = *running.back()->explorer;
    if (explorer.goes_on() && left() + 1 > options_.lanes) {
      explorer.compare_lanes();
      further = options_.further->equal_lanes();
      if (left() <= further.size()) further.clear();
    }
    put_aside(*running.back());
    if (!further.empty()) {
      running.back()->session->lanes = 1;
      running.back()->session->further_lanes = nullptr;
    }
  }
  Turns turns(1 + further.size());
  if (further.empty()) return take_turns(0, std::move(running), &turns);
  on_lanes(further, [&](uint32_t lane) {
    take_turns(lane, lane == 0 ? std::move(running) : std::vector<std::unique_ptr<Running>>(),
               &turns);
  });
  explore_again_on_first();
}

void Explorations::explore_round() {
  {
    const std::lock_guard lock(mutex_);
    taken_.assign(options_.request->tests.size(), false);
    done_.clear();
  }
  if (options_.mode->tests_stand_alone() && options_.further != nullptr) {
    std::vector<uint32_t> further;
    for (uint32_t lane = 1; lane < options_.lanes; ++lane) further.push_back(lane);
    return explore_side_by_side(further);
  }
  if (options_.mode->takes_turns()) {
    while (left() > 0 && !is_stopped()) explore_in_turns();
    return;
  }
  while (const auto number = next_test(0)) {
    explore_on_all(*number);
    const std::vector<uint32_t> equal =
        options_.further ? options_.further->equal_lanes() : std::vector<uint32_t>();
    // With fewer tests than lanes, lanes are of more use within a test.
    if (!equal.empty() && left() > equal.size()) explore_side_by_side(equal);
  }
}

Result<void> Explorations::run(Lane* lane, std::vector<TestReport>* reports) {
  const std::vector<TestConfig>& tests = options_.request->tests;
  first_ = lane;
  do {
    explore_round();
  } while (!is_stopped() && options_.mode->begins_another_round());
  if (is_stopped()) {
    options_.mode->stopped();
    for (auto& [number, exploration] : done_) reports->push_back(std::move(exploration.report));
    return {};
  }
  std::string not_explored;
  for (auto& [number, exploration] : done_) {
    reports->push_back(std::move(exploration.report));
    if (!exploration.error) continue;
    if (tests.size() == 1) return *exploration.error;
    // The other tests may still find something.
    reports->back().notes.push_back("NOT explored: " + exploration.error->message);
    not_explored += (not_explored.empty() ? "'" : ", '") + tests[number].name + "'";
  }
  if (not_explored.empty()) return {};
  return Error{"not every test could be explored: " + not_explored + " could not (see above)"};
}

}  // namespace filibuster
