// The second act of `record`: the recorded service alone, against what was recorded, to see which cases are kept
// (daemon/replay/admission.h). The folder then has these, and the others stand under partial/ with the reason.
#pragma once

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "daemon/explore/test_run.h"
#include "daemon/record/redactor.h"
#include "daemon/replay/admission.h"

namespace filibuster {

class AdmissionAct final : public replay::Stage {
 public:
  // `redactor`: of the recording, which outlives this.
  AdmissionAct(std::string folder, size_t most_cases, uint64_t most_bytes,
               const record::Redactor& redactor)
      : folder_(std::move(folder)),
        most_(most_cases),
        most_bytes_(most_bytes),
        redactor_(redactor) {}

  // Reads what was recorded. False: nothing can be replayed, and summary() says why.
  bool load();
  const std::string& service() const { return set_.set.service; }
  size_t size() const { return set_.cases.size(); }

  Result<void> before_services(Lane* lane);
  // Error: the environment is broken. What was recorded stays as it is then.
  Result<void> run(SessionContext* session, Lane* lane, const TestConfig& test);
  bool is_done() const { return done_; }
  std::string summary() const;

  Result<void> restart() override { return player_->restart(); }
  Result<replay::Played> play(const cases::Case& of) override;
  replay::Rejudged rejudged(bool waits) override { return player_->rejudged(waits); }
  void begin_pass(size_t pass) override;
  bool show_later(std::chrono::seconds by) override;
  void show_host(const std::string& name) override { lane_->show_host_name(name); }
  std::vector<std::string> process_misses() const override { return answers_->process_misses(); }
  cases::Case with_secrets(const cases::Case& of, const std::set<std::string>& kept) const override;
  std::vector<Secret> secrets(const cases::Case& of) const override;

 private:
  Result<void> save(replay::Admitted* admitted);

  const std::string folder_;
  const size_t most_;
  const uint64_t most_bytes_;
  const record::Redactor& redactor_;
  replay::LoadedSet set_;
  std::vector<std::string> files_;  // of the cases that were loaded
  size_t left_out_ = 0;             // by the bound
  uint64_t without_room_ = 0;       // of those that were replayed
  std::shared_ptr<replay::CaseAnswers> answers_;
  std::unique_ptr<replay::CasePlayer> player_;
  Lane* lane_ = nullptr;  // in which the service runs
  int wake_fd_ = -1;
  std::chrono::steady_clock::time_point first_pass_;
  std::chrono::seconds later_{0};
  std::set<std::string> time_notes_;
  std::string log_;  // of the service in the replays; "": it is not kept
  replay::Admitted admitted_;
  bool done_ = false;
  std::string problem_;
};

}  // namespace filibuster
