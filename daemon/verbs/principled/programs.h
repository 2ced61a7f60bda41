// The two kinds of structured tests: commands of the configuration, and a program that asks what it is to do (docs/principled.md).
#pragma once

#include <memory>
#include <string>

#include "daemon/lane/execution_runner.h"
#include "daemon/lane/lane.h"
#include "daemon/principled/block.h"
#include "daemon/principled/channel.h"

namespace filibuster {

struct ProgramPlace {
  const TestConfig& test;
  const Config& config;
  Lane* lane;
  const ExecutionRunner* runner;    // knows the environment of the test's processes
  std::chrono::milliseconds limit;  // of one block
};

// How the service answered, for the commands of the blocks behind `execute` (FILIBUSTER_OUTCOME).
class CommandProgram final : public principled::Program {
 public:
  explicit CommandProgram(ProgramPlace place) : place_(place) {}
  std::string form() const override { return "json"; }
  Result<void> begin(uint32_t execution, const std::string& name) override;
  Result<principled::BlockResult> run(const principled::Instruction& what) override;
  Result<void> end(const End&) override { return {}; }
  void set_outcome(const principled::Thrown& outcome);

 private:
  Result<principled::BlockResult> run_command(const Command& command,
                                              const principled::Instruction& what);
  const ProgramPlace place_;
  uint32_t execution_ = 0;
  std::string outcome_;  // JSON
};

class RunnerProgram final : public principled::Program {
 public:
  // Starts the program, and waits until it asks for the first time. Error: it does not start, or ends before it asks. `*stopped`: the
  // session was asked to end meanwhile.
  static Result<std::unique_ptr<RunnerProgram>> start(ProgramPlace place,
                                                      principled::BlockChannel* channel);
  ~RunnerProgram() override;  // ends what still runs
  std::string form() const override { return form_; }
  Result<void> begin(uint32_t execution, const std::string& name) override;
  Result<principled::BlockResult> run(const principled::Instruction& what) override;
  Result<void> end(const End& end) override;
  // The program is told that all is over, and ends. Returns how.
  void finish(bool passed, const std::string& text);
  // It has ended, or was ended since a block took too long: why.
  const std::string& why_gone() const { return why_gone_; }

 private:
  RunnerProgram(ProgramPlace place, principled::BlockChannel* channel, Process process)
      : place_(place), channel_(*channel), process_(std::move(process)) {}
  Result<nlohmann::json> answer_to(nlohmann::json instruction, const char* expected);
  Result<nlohmann::json> wait(const char* expected);

  const ProgramPlace place_;
  principled::BlockChannel& channel_;
  Process process_;
  std::string form_, why_gone_;
};

}  // namespace filibuster
