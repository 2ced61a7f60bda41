#include "daemon/verbs/principled/programs.h"

#include <poll.h>
#include <signal.h>

#include <nlohmann/json.hpp>

#include "core/text/escapes.h"
#include "daemon/base/descriptors.h"
#include "daemon/base/own_files.h"
#include "daemon/model/environment_error.h"

namespace filibuster {
namespace {

using Json = nlohmann::json;
using principled::Block;
using principled::BlockResult;
using principled::Instruction;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kKillLimit{5000};
constexpr milliseconds kFinishLimit{10000};  // for a runner to write its results
constexpr int kOutputLines = 60;

Result<BlockResult> read_result(const Json& ran) {
  BlockResult out;
  out.passed = ran.value("passed", true);
  out.message = ran.value("message", "");
  out.at = ran.value("at", "");
  out.trace = ran.value("trace", "");
  if (const auto calls = ran.find("calls"); calls != ran.end()) {
    if (!calls->is_array()) return Error{"'calls': expected an array"};
    out.calls.assign(calls->begin(), calls->end());
  }
  const auto outcome = ran.find("outcome");
  if (outcome == ran.end() || !outcome->is_object()) return out;
  out.outcome.emplace();
  out.outcome->thrown = outcome->value("thrown", false);
  const auto code = outcome->find("code");
  if (code != outcome->end() && !code->is_null())
    out.outcome->code = code->is_string() ? code->get<std::string>() : code->dump();
  if (const auto message = outcome->find("message");
      message != outcome->end() && message->is_string())
    out.outcome->message = message->get<std::string>();
  return out;
}

}  // namespace

Result<void> CommandProgram::begin(uint32_t execution, const std::string&) {
  execution_ = execution;
  outcome_.clear();
  return {};
}

void CommandProgram::set_outcome(const principled::Thrown& outcome) {
  outcome_ =
      Json{{"thrown", outcome.thrown}, {"code", outcome.code}, {"message", outcome.message}}.dump(
          -1, ' ', false, Json::error_handler_t::replace);
}

Result<BlockResult> CommandProgram::run(const Instruction& what) {
  const PrincipledConfig& blocks = *place_.test.principled;
  static const Command kNone;
  BlockResult statements;
  const Command* command = &kNone;
  switch (what.block) {
    case Block::kSetup:
      command = &blocks.setup;
      break;
    case Block::kStub:
      statements.calls = blocks.stubs;
      break;
    case Block::kFailure:
      statements.calls = blocks.failure;
      break;
    case Block::kExecute:
      command = &blocks.execute;
      break;
    case Block::kAssertTest:
      command = &blocks.assert_test;
      break;
    case Block::kAssertStubs:
      statements.calls = blocks.assert_stubs;
      break;
    case Block::kTeardown:
      command = &blocks.teardown;
      break;
    case Block::kOnFault:
    case Block::kOnException:
      command = &blocks.assertions.at(what.specification).command;
      statements.calls = blocks.assertions.at(what.specification).statements;
      break;
  }
  if (command->empty()) return statements;
  auto ran = run_command(*command, what);
  if (!ran) return ran.error();
  ran->calls = std::move(statements.calls);
  return ran;
}

Result<BlockResult> CommandProgram::run_command(const Command& command, const Instruction& what) {
  auto options = place_.runner->spawn_options(command);
  if (!options) return options.error();
  set_variable(&options->environment, "FILIBUSTER_EXECUTION", std::to_string(execution_));
  set_variable(&options->environment, "FILIBUSTER_BLOCK", std::string(block_name(what.block)));
  if (!outcome_.empty()) set_variable(&options->environment, "FILIBUSTER_OUTCOME", outcome_);
  auto process = Process::spawn(options.value());
  if (!process) {
    return with_remedy("the block '" + std::string(block_name(what.block)) +
                           "' does not start: " + process.error().message,
                       "correct its command in the configuration");
  }
  OwnedProcesses& owned = place_.lane->owned();
  owned.add("test", process->pid(), process->start_time());
  const auto status = process->wait(place_.limit, place_.lane->place().wake_fd);
  if (!status) {
    process->kill_group(SIGKILL);
    process->wait(kKillLimit);
  }
  owned.forget(process->pid());
  BlockResult out;
  out.passed = status && status->success();
  if (out.passed) return out;
  out.trace = without_escapes(last_lines(options->log_path, kOutputLines));
  const std::string last = without_escapes(last_lines(options->log_path, 1));
  out.message = status ? to_text(*status)
                       : "it did not end within " + std::to_string(place_.limit.count()) + " ms";
  if (!last.empty()) out.message += ": " + last.substr(0, last.find('\n'));
  return out;
}

Result<std::unique_ptr<RunnerProgram>> RunnerProgram::start(ProgramPlace place,
                                                            principled::BlockChannel* channel) {
  auto options = place.runner->spawn_options(place.test.command);
  if (!options) return options.error();
  set_variable(&options->environment, "FILIBUSTER_BLOCKS", "1");
  AgentHub* const hub = &place.lane->hub();
  channel->open([hub, limit = place.config.bounds.quiesce_timeout] { hub->wait_quiescent(limit); });
  auto process = Process::spawn(options.value());
  if (!process) {
    return with_remedy("test '" + place.test.name + "' does not start: " + process.error().message,
                       "correct its `command` or its `directory` in the configuration");
  }
  place.lane->owned().add("test", process->pid(), process->start_time());
  std::unique_ptr<RunnerProgram> out(new RunnerProgram(place, channel, std::move(process).value()));
  const auto hello = out->wait("hello");
  if (!hello) {
    return Error{"test '" + place.test.name +
                 "': its program has no structured test: " + hello.error().message + "\n" +
                 without_escapes(last_lines(options->log_path, kOutputLines))};
  }
  const auto form = hello->is_object() ? hello->find("form") : hello->end();
  out->form_ = hello->is_object() && form != hello->end() && form->is_string()
                   ? form->get<std::string>()
                   : "pytest";
  return out;
}

RunnerProgram::~RunnerProgram() {
  channel_.close();
  if (!process_.poll_exit()) {
    process_.kill_group(SIGKILL);
    process_.wait(kKillLimit);
  }
  place_.lane->owned().forget(process_.pid());
}

Result<Json> RunnerProgram::wait(const char* expected) {
  const auto began = Clock::now();
  const int wake_fd = place_.lane->place().wake_fd;
  const auto goes_on = [&] {
    if (is_readable(wake_fd)) {
      why_gone_ = "the session was stopped";
    } else if (const auto status = process_.poll_exit()) {
      why_gone_ = "its process ended (" + to_text(*status) + ")";
    } else if (Clock::now() - began > place_.limit) {
      why_gone_ = "it did not end within " + std::to_string(place_.limit.count()) + " ms";
    }
    return why_gone_.empty();
  };
  auto said = channel_.next(goes_on);
  if (!said) return Error{why_gone_};
  const auto found = said->find(expected);
  if (found == said->end())
    return Error{"the program says " + said->dump().substr(0, 200) + " where '" + expected +
                 "' is expected"};
  return std::move(*found);
}

Result<Json> RunnerProgram::answer_to(Json instruction, const char* expected) {
  if (!why_gone_.empty()) return Error{why_gone_};
  channel_.tell(std::move(instruction));
  return wait(expected);
}

Result<void> RunnerProgram::begin(uint32_t execution, const std::string& name) {
  const auto answer =
      answer_to({{"do", "begin"}, {"execution", execution}, {"name", name}}, "begun");
  return answer ? Result<void>() : Result<void>(answer.error());
}

Result<BlockResult> RunnerProgram::run(const Instruction& what) {
  Json instruction = {{"do", "run"}, {"block", block_name(what.block)}};
  if (what.block == Block::kOnFault || what.block == Block::kOnException)
    instruction["specification"] = what.specification;
  const auto answer = answer_to(std::move(instruction), "ran");
  if (!answer) return answer.error();
  try {
    return read_result(answer.value());
  } catch (const Json::exception& error) {
    return Error{std::string("the program says what is not understood: ") + error.what()};
  }
}

Result<void> RunnerProgram::end(const End& end) {
  if (!why_gone_.empty()) return {};
  const auto answer = answer_to({{"do", "end"},
                                 {"execution", end.execution},
                                 {"passed", end.passed},
                                 {"kind", end.kind},
                                 {"text", end.text}},
                                "ended");
  return answer ? Result<void>() : Result<void>(answer.error());
}

void RunnerProgram::finish(bool passed, const std::string& text) {
  if (!why_gone_.empty()) return;
  channel_.tell({{"do", "finish"}, {"passed", passed}, {"text", text}});
  process_.wait(kFinishLimit, place_.lane->place().wake_fd);
}

}  // namespace filibuster
