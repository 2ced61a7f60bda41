// Answers the calls of a service that is replayed from what was recorded (daemon/cases/matching.h), in the place of its dependencies.
//
// In the place of secrets the recording has tokens, and the service has its own secrets: so calls and answers are compared with all secrets
// masked on both sides. What is sent is what was recorded.
//
// A service may call on behind its answer, also while the next case runs. Each call says which request has caused it, and is answered from
// the case of that request and judged with it, however long that has been over.
#pragma once

#include <chrono>
#include <condition_variable>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/agents/agent_hub.h"
#include "daemon/agents/symbolize.h"
#include "daemon/cases/difference.h"
#include "daemon/cases/matching.h"
#include "daemon/record/redactor.h"
#include "daemon/replay/case_set.h"
#include "daemon/replay/places.h"
#include "daemon/stubs/answerer.h"

namespace filibuster::replay {

inline constexpr std::chrono::milliseconds kMostGap{100};
// A stub answers at once, so that a call which does not wait for that answer any more comes behind it. Such an answer is held back so
// long, to see whether the call comes meanwhile: it is sent at the same time then. A program makes two calls one after the other, or it
// does not, so this is done once for each two places of a route that make calls, and not in each case.
inline constexpr std::chrono::milliseconds kHold{20};

using Rejudged = std::map<uint32_t, cases::Verdict>;

class CaseAnswers final : public stubs::Answerer {
 public:
  // `set` outlives this, and the recordings do while there are calls. `places` is the sink of the recording that runs.
  // `keeps_gaps`: parts of an answer come with the gaps with which they were recorded, else with at most kMostGap.
  CaseAnswers(const LoadedSet& set, Recordings* recordings, std::shared_ptr<Places> places,
              bool keeps_gaps = false);

  // A process of the service starts: nothing of its life has been answered yet.
  void start();
  // What has been held back once is held back once more.
  void hold_again();
  // The request of the case is about to be sent, in this execution.
  void begin(const cases::Case& of, uint32_t execution);
  // A service may call on behind its answer: waits until all recorded calls have come, at most so long.
  void wait_for_calls(std::chrono::milliseconds limit);
  // It was answered, and nothing is under way any more.
  // `died`: how the service itself has ended meanwhile, in words; "": it has not.
  cases::Verdict end(const cases::EntryEnd& end, std::vector<std::string> doubts,
                     std::string died = "");
  // What is to be said now of cases that ended before, since calls of theirs have come: by their execution. Each change is told once.
  Rejudged rejudged();
  // Calls of the process (start-up, loops) that nothing recorded answers, in the life of this process.
  std::vector<std::string> process_misses() const;
  // By what the calls of the case that ran last, and which had no answer, are compared (cases::Keys::input).
  std::vector<Hash128> missed() const;
  // What an arrival of the case that ran last brings (cases::Difference::arrival), with its secrets.
  cases::CallInput arrived(size_t arrival) const;

  stubs::Reply reply(stubs::Call call) override;
  std::optional<stubs::Reply> reply_open(const stubs::Call& call) override;
  void leaves(uint64_t ticket) override;
  void refuse(const std::string& service, const std::string& problem) override;

 private:
  // Another call of the case stands behind the answer.
  struct Wait {
    size_t call = 0;
    Hash128 places;  // of both, and the route: what is held back once
  };
  // One replay of a case. It is at a fixed place, since its matcher refers to what is in it.
  struct Round {
    uint32_t execution = 0;
    cases::Case recorded, masked;
    record::Redactor mask;  // of what comes
    cases::Matcher matcher;
    std::vector<std::vector<Wait>> waits = {};    // of each call, for its answer
    std::vector<cases::CallInput> arrivals = {};  // with their secrets
    // What it was judged by, once it has ended.
    cases::EntryEnd end = {};
    std::vector<std::string> doubts = {};
    std::string died = {};
    bool is_over = false, has_changed = false;
  };
  struct CallOfRound {
    cases::LiveCall live;
    uint32_t execution = 0;  // of kCase
  };
  CallOfRound live_call(const stubs::Call& call);
  Round* round_of(const CallOfRound& call);
  stubs::Reply reply_in(Round* round, cases::LiveCall live);
  std::vector<std::vector<Wait>> waits_of(const cases::Case& of) const;
  bool is_to_be_held(const Round& round, size_t place);
  stubs::Reply reply_of_process(cases::LiveCall live);
  cases::Verdict judged(const Round& round) const;
  stubs::Reply reply_of(const cases::Call& recorded) const;
  std::optional<stubs::Reply> reply_in_turns(const Round& round, const cases::CallInput& input,
                                             const std::string& site) const;

  const LoadedSet& set_;
  Recordings* const recordings_;
  const std::shared_ptr<Places> places_;
  const bool keeps_gaps_;
  const record::Redactor::Rules secrets_;
  Symbolizer symbolizer_;     // has its own lock
  mutable std::mutex mutex_;  // guards all below
  std::condition_variable arrived_;
  cases::ProcessRecord process_;      // masked
  cases::Matcher matcher_;            // of the process alone
  record::Redactor mask_;             // of what comes while no case runs
  std::list<Round> rounds_;           // in their order; those that are long over are gone
  bool runs_ = false;                 // the last one of them
  std::set<Hash128> held_;            // Wait::places
  std::vector<std::string> refused_;  // clients of the case that runs
};

}  // namespace filibuster::replay
