// Replays the cases of a set, one after the other, against the service alone.
#pragma once

#include <deque>
#include <memory>
#include <set>
#include <string>

#include "daemon/explore/test_run.h"
#include "daemon/replay/case_player.h"
#include "daemon/verbs/verify/request.h"
#include "daemon/verbs/verify/results.h"

namespace filibuster {

class VerifyTester {
 public:
  VerifyTester(SessionContext* session, Lane* lane, const TestConfig& test,
               const VerifyRequest& request, replay::CaseAnswers* answers);

  // Error: the environment is broken; `out` has what was replayed before.
  Result<void> run(VerifyResults* out);
  bool stopped() const { return stopped_; }

 private:
  Result<VerifiedCase> replay(const cases::Case& of);
  // Cases call on behind their end, and are others then.
  void judge_again(bool waits, std::vector<VerifiedCase>* rows);
  Result<void> bring_into_state(const cases::Case& of);
  Result<void> replay_again(const cases::Case& of);
  Result<void> save(cases::Case accepted, VerifiedCase* row);
  // Accepts what differs, and writes it once the case passes with it.
  Result<void> update(const cases::Case& of, VerifiedCase* row);

  SessionContext& session_;
  Lane& lane_;
  const TestConfig& test_;
  const VerifyRequest& request_;
  replay::CaseAnswers& answers_;
  std::unique_ptr<replay::CasePlayer> player_;
  cases::Answer answer_;  // of the service, in the last replay
  std::vector<const cases::Case*>
      played_;  // since the service started, but for what came behind a difference
  std::deque<cases::Case> accepted_;  // of these, those that were accepted
  std::set<std::string> time_notes_;  // who is not shown the time of the recording
  bool stopped_ = false;
  bool in_order_ = false;  // all that the set has was replayed before, and passed
};

}  // namespace filibuster
