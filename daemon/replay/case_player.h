// Replays single cases against the service that runs: sends the request, waits for what it causes, and compares.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/cases/difference.h"
#include "daemon/cases/model.h"
#include "daemon/lane/execution_runner.h"
#include "daemon/lane/lane.h"
#include "daemon/replay/answers.h"
#include "daemon/replay/case_set.h"

namespace filibuster::replay {

struct Played {
  cases::Verdict verdict;
  cases::Answer answer;         // of the service
  std::vector<Hash128> missed;  // keys (identity.h) of what the calls without an answer brought
  double seconds = 0;
  uint32_t execution = 0;
  bool stopped = false;  // the session was asked to end: no conclusion
  std::string output;    // the last lines of the service, where the case did not pass
  std::set<std::string>
      time_notes;  // which of its processes are not shown the time of the recording, and why
};

// The service is given the random numbers and the name of the machine of the recording from its start on, and shown its time if
// `shows_time`. To be called before it
// starts, by who then calls CasePlayer::show_recording().
void show_start_of_recording(const LoadedSet& set, bool shows_time, Lane* lane);

class CasePlayer {
 public:
  ~CasePlayer() { runner_.leave(); }
  // Whatever is given outlives the player. `service` is the one that has a process. `executions`: the number of the last one.
  static Result<std::unique_ptr<CasePlayer>> make(const Config& config, const TestConfig& test,
                                                  const std::string& service, Lane* lane,
                                                  CaseAnswers* answers,
                                                  std::atomic<uint32_t>* executions);

  // A service that starts anew is given the random numbers of the start. If `shows_time`: each case is shown its own time of day from
  // now on, and a service that starts anew that of the first case.
  void show_recording(const LoadedSet& set, bool shows_time);
  // A time that is so much later.
  void show_later(std::chrono::microseconds by) { later_us_ = by.count(); }

  // Error: the environment is broken.
  Result<Played> play(const cases::Case& of);
  // What is to be said now of cases that were played before, by their execution, since they have called on behind their end. `waits`:
  // for calls that may still come.
  Rejudged rejudged(bool waits);
  // The service on a process of its own, which has done nothing yet.
  Result<void> restart();

 private:
  CasePlayer(const Config& config, std::string service, Lane* lane, CaseAnswers* answers,
             std::atomic<uint32_t>* executions, ExecutionRunner runner)
      : config_(config),
        service_(std::move(service)),
        lane_(*lane),
        answers_(*answers),
        executions_(*executions),
        runner_(std::move(runner)) {
    runner_.stay();
  }
  std::vector<std::string> calls_elsewhere(const ExecutionRecord& record) const;
  const ServiceConfig& config_service() const;
  bool is_part(const std::string& service) const;
  uint16_t port_of(const cases::Request& request) const;
  void show_time(int64_t now_us);

  const Config& config_;
  const std::string service_;
  Lane& lane_;
  CaseAnswers& answers_;
  std::atomic<uint32_t>& executions_;
  ExecutionRunner runner_;
  std::vector<cases::Draw> process_draws_;
  std::optional<int64_t> first_us_;  // of the set; nullopt: the time is the machine's
  int64_t later_us_ = 0;
};

}  // namespace filibuster::replay
