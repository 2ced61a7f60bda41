// The explorations of a session: its tests in turns (turns.h) or one after the other, each on all lanes. Once the lanes have
// shown in one test what lane 0 shows, and while there are at least as many tests left as lanes, tests are explored
// side by side, each on one lane (docs/lanes.md).
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "daemon/lane/lane.h"
#include "daemon/lane/lane_set.h"
#include "daemon/lane/service_descriptors.h"
#include "daemon/session/mode.h"
#include "daemon/session/questions.h"
#include "daemon/session/request.h"
#include "daemon/session/turns.h"
#include "daemon/session/underway.h"

namespace filibuster {

class Explorations {
 public:
  using Clock = std::chrono::steady_clock;
  // What is pointed to must outlive the explorations.
  struct Options {
    const SessionRequest* request;
    Mode* mode;
    LaneSet* further;  // null: there is one lane
    uint32_t lanes = 1;
    EventSink sink;
    // Of the session's time, where it is bounded.
    std::optional<Clock::time_point> end;
    Suspects suspects;
    // The live page. `show` gets the tests that are explored or are being explored.
    std::function<bool()> page_is_wanted;
    std::function<void(std::vector<TestReport>)> show;
    Underway* underway = nullptr;                // null: nobody looks
    principled::BlockChannel* blocks = nullptr;  // SessionContext
  };
  explicit Explorations(Options options) : options_(std::move(options)) {}

  // Explores every test. `lane` is lane 0, whose services are running. The reports come in the order of the
  // tests. Error: what could not be explored.
  Result<void> run(Lane* lane, std::vector<TestReport>* reports);
  bool resumed() const;  // after run(): a test went on where an interrupted session stopped

  // --- any thread, while it runs ---
  // The test that runs on this lane has asked. Returns what is known of the services of its exploration;
  // null: nothing runs there.
  std::shared_ptr<ServiceDescriptors> asked(uint32_t lane, const FaultQuery& query);
  // What is known of the services on lane 0; null: no test has run yet.
  std::shared_ptr<ServiceDescriptors> descriptors() const;
  ExecutionRecord last() const;  // of any test

 private:
  // What belongs to the exploration that runs on a lane.
  struct Place {
    std::shared_ptr<ServiceDescriptors> descriptors;
    std::shared_ptr<Questions> questions;  // of the test that has its turn
  };
  // A test on a lane.
  struct Running {
    size_t number = 0;
    Lane* lane = nullptr;
    TestConfig test;
    std::shared_ptr<Questions> questions;
    std::optional<SessionContext> session;
    std::unique_ptr<Explorer> explorer;  // where it takes turns
  };
  bool is_over() const;  // the time of the session
  Place* begin(const Lane& lane, const std::shared_ptr<Questions>& questions);
  std::unique_ptr<Running> prepare(Lane* lane, size_t number);
  Exploration conclude(const Running& running, Exploration exploration);
  Exploration explore(Lane* lane, size_t number);
  // The same up to its first fault, for a test that takes turns.
  std::unique_ptr<Running> begin_turns(Lane* lane, size_t number);
  void put_aside(const Running& running);
  void tries_nothing(const Running& running);
  void explore_in_turns();
  void take_turns(uint32_t lane, std::vector<std::unique_ptr<Running>> running, Turns* turns);
  void on_lanes(const std::vector<uint32_t>& further, const std::function<void(uint32_t)>& work);
  void explore_again_on_first();
  size_t left() const;  // tests whose exploration has not begun
  Lane* lane_of(uint32_t number);
  Exploration failed(size_t test, uint32_t lane, const std::exception& failure) const;
  void explore_on_all(size_t number);
  void explore_side_by_side(const std::vector<uint32_t>& further);
  void take_tests(uint32_t number);
  void end(size_t number, Exploration exploration);
  std::optional<size_t> next_test(uint32_t lane);
  void explore_round();
  void show(size_t number, TestReport running);
  bool is_stopped() const;
  void warn(const std::string& text) const;

  const Options options_;
  SessionCounters counters_;
  Lane* first_ = nullptr;               // lane 0
  std::vector<uint32_t> side_by_side_;  // the lanes, while tests run side by side

  mutable std::mutex mutex_;  // guards everything below
  std::vector<bool> taken_;   // by number of the test: its exploration has begun
  std::map<uint32_t, Place> places_;
  std::map<size_t, Exploration> done_;    // by number of the test
  std::map<size_t, TestReport> running_;  // as they were shown last
  ExecutionRecord last_;
};

}  // namespace filibuster
