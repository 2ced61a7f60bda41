// Which of the recorded cases are kept: those that replay on the version that has recorded them, on a process that was started for them, in
// the order in which they were recorded. What varies from replay to replay is masked, calls whose order varies wait for one another no
// more, and cases that are equal then are one.
//
//   Admission admission(&set, &stage);
//   auto kept = admission.run();      // set: the cases that are kept, with its masks
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/result.h"
#include "daemon/cases/noise.h"
#include "daemon/replay/case_player.h"
#include "daemon/replay/case_set.h"
#include "daemon/replay/draw_effects.h"

namespace filibuster::replay {

// Where cases are replayed.
class Stage {
 public:
  virtual ~Stage() = default;
  // A process of the service that has done nothing. The first one is there without it.
  virtual Result<void> restart() = 0;
  virtual Result<Played> play(const cases::Case& of) = 0;
  // What is to be said now of cases that were played before, since they have called on behind their end. `waits`: for such calls.
  virtual Rejudged rejudged(bool waits) = 0;
  // Before the `pass`-th time (from 0) that all cases are replayed.
  virtual void begin_pass(size_t pass) = 0;
  // From now on the service is shown a time of day that is so much later. False: not all of it is shown one.
  virtual bool show_later(std::chrono::seconds by) = 0;
  // From now on the service is told that the machine has this name. The next process is the first one that is.
  virtual void show_host(const std::string& name) = 0;
  // What the service asked by itself that is not recorded, in the life of its process.
  virtual std::vector<std::string> process_misses() const = 0;
  // The case as the service got it, with its secrets, but for those that are in `kept`.
  virtual cases::Case with_secrets(const cases::Case& of,
                                   const std::set<std::string>& kept) const = 0;
  struct Secret {
    std::string token, place;  // "the header authorization of the request"
  };
  virtual std::vector<Secret> secrets(const cases::Case& of) const = 0;
};

inline constexpr const char* kLacksOthers = "it needs the state that a case made which is not kept";

struct RefusedCase {
  cases::Case value;
  std::string why;
};

struct Admitted {
  std::vector<RefusedCase> refused;
  size_t equal = 0;                // cases that were equal to another one under the masks
  size_t unordered = 0;            // calls that wait for another one no more
  std::vector<std::string> masks;  // in words
  size_t units = 0;                // cases that need what earlier ones left in memory
  size_t grown = 0;                // of the refused ones, those that need too much of it
  size_t unknown = 0;              // cases that may need it
  size_t passes = 0, replays = 0;
  std::vector<std::string> of_time;  // cases that are others at another time of day, in words
  std::vector<std::string> of_host;  // and on a machine of another name
  std::vector<std::string> notes;
  bool stopped = false;  // before anything could be said
};

class Admission {
 public:
  // Both outlive it. `keep_draws`: of the configuration.
  Admission(LoadedSet* set, Stage* stage, std::vector<std::string> keep_draws = {})
      : set_(*set), stage_(*stage), keep_draws_(std::move(keep_draws)), noise_(&set->set) {}
  // Error: the service cannot be started alone, or the environment is broken.
  Result<Admitted> run();

 private:
  // How each case ended, by its place.
  struct Pass {
    std::vector<cases::Verdict> verdicts;
    bool stopped = false;
  };
  using Altered = std::function<cases::Case(const cases::Case&)>;
  // `waits`: for calls that come behind the last answer. `altered`: what is replayed in the place of each case.
  Result<Pass> pass(bool waits = false, const Altered& altered = {});
  Result<void> settle(size_t least_passes);
  Result<void> find_draws();
  Result<bool> learn(const Pass& seen);
  void note_what_differs(const Pass& seen, bool learned);
  size_t least_passes() const;
  bool forget_order(const cases::Case& of, size_t before, size_t call);
  void unite();
  Result<void> count();
  Result<void> find_units();
  void refuse_what_lacks_others();
  static std::string sentence_of(const cases::Verdict& verdict);
  Result<void> find_times();
  Result<void> find_host();
  Result<std::string> reason(const cases::Case& of, const cases::Verdict& verdict);
  Result<std::string> broken_by_secrets(const cases::Case& of);

  LoadedSet& set_;
  Stage& stage_;
  const std::vector<std::string> keep_draws_;
  cases::Noise noise_;
  Admitted out_;
  std::map<std::string, std::string> differed_;  // file: how, since something was learned last
  bool is_fresh_ = true;
};

// The cases of a set that is bounded: each route, with each sequence of calls and each status, has one, and the newest ones fill it up.
// Returns how many were left out.
size_t bound(size_t most, LoadedSet* set);

}  // namespace filibuster::replay
