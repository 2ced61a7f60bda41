#include "daemon/verbs/property/tester.h"

#include <algorithm>
#include <set>

#include "core/text/shortened.h"
#include "daemon/base/descriptors.h"
#include "daemon/model/caller.h"
#include "daemon/observe/observation.h"
#include "daemon/property/shrinker.h"
#include "daemon/verbs/property/programs.h"

namespace filibuster {

using property::ArmableFault;
using property::Program;
using property::Random;

namespace {

constexpr std::chrono::milliseconds kCommandLimit{60000};
constexpr int kReplays = 3;
constexpr size_t kShownReason = 200;  // bytes of what a client says
constexpr uint64_t kMixed =
    0x9e3779b97f4a7c15;                    // so that neighbouring seeds have nothing in common
constexpr uint32_t kMostShrinking = 1000;  // programs
constexpr size_t kMostOnce = 5;        // violations that did not happen again, until the test ends
constexpr size_t kMostSchedules = 50;  // of one program

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

PropertyTester::PropertyTester(SessionContext* session, Lane* lane, const TestConfig& test,
                               const PropertyRequest& request)
    : session_(*session),
      lane_(*lane),
      test_(test),
      request_(request),
      number_of_clients_(request.clients.value_or(test.property->clients)),
      clients_(test.timeout.value_or(kCommandLimit), lane->place().wake_fd) {}

PropertyTester::~PropertyTester() = default;

bool PropertyTester::is_over() {
  if (session_.deadline && std::chrono::steady_clock::now() >= *session_.deadline)
    out_->time_over = true;
  return stopped_ || out_->time_over;
}

Result<void> PropertyTester::start_clients() {
  return clients_.start(number_of_clients_, [&](size_t i) {
    return start_property_client(test_, *runner_, lane_.place(), *model_, i);
  });
}

Result<void> PropertyTester::prepare() {
  auto runner = ExecutionRunner::create(session_.config, test_, lane_.place(), &lane_.hub(),
                                        &lane_.services(), &lane_.owned());
  if (!runner) return runner.error();
  runner_ = std::make_unique<ExecutionRunner>(std::move(runner).value());
  lane_.hub().set_hang_limit(hang_limit_of(session_.config.bounds, 0));
  auto model = make_property_model(test_, *runner_, lane_.place());
  if (!model) return model.error();
  model_ = std::move(model).value();
  return start_clients();
}

Result<void> PropertyTester::run(PropertyTest* out) {
  out_ = out;
  out->test = test_.name;
  for (const std::string& obstacle : lane_.obstacles()) out->notes.push_back(obstacle);
  if (is_over()) return {};
  if (auto prepared = prepare(); !prepared) return prepared;
  if (request_.replay) return replay(*request_.replay);
  if (auto looked = look_without_faults(); !looked) return looked;
  if (out->findings.empty() && !is_over()) {
    if (auto searched = search(); !searched) return searched;
  }
  const std::string contradiction = model_->contradiction();
  if (!contradiction.empty()) return Error{contradiction};
  return {};
}

// One sequential program twice: that the second one passes shows that the application is reset. What it calls is what may get faults.
Result<void> PropertyTester::look_without_faults() {
  Random random(request_.seed * kMixed);
  const property::GeneratorOptions options{.most_items = test_.property->length,
                                           .fault_weight = 0,
                                           .request_weight = 1,
                                           .shows_all = true};
  auto program = generate(model_.get(), {}, options, &random);
  if (!program) return program.error();
  for (int i = 0; i < 2 && !stopped_; ++i) {
    if (session_.tries) session_.tries("without faults");
    learns_ = true;
    auto executed = execute(program.value());
    learns_ = false;
    if (!executed) return executed.error();
    if (stopped_) return {};
    if (!executed->violation) {
      note_failures(executed.value());
      continue;
    }
    if (i == 1)
      return Error{
          "the application is not reset between programs: the same program passes at first, and then " +
          shortened(executed->violation->text, kShownReason) +
          ". Its reset is the command 'reset' of the client"};
    return report(0, program.value(), executed.value());
  }
  learn_faults();
  return {};
}

// Nothing is compared with the model where a command fails, so that a client that is wrong would make every program pass.
void PropertyTester::note_failures(const ExecutedProgram& program) {
  for (const ExecutedItem& item : program.items) {
    if (item.outcome != "fail" && item.outcome != "info") continue;
    const std::string note = "without any fault, '" + item.item.f + "' was answered " +
                             item.outcome + ": " + shortened(item.reason, kShownReason);
    const auto same = [&](const std::string& each) {
      return each.starts_with("without any fault, '" + item.item.f + "' ");
    };
    if (std::none_of(out_->notes.begin(), out_->notes.end(), same)) out_->notes.push_back(note);
  }
}

Result<void> PropertyTester::replay(const PropertyRequest::Replay& of) {
  out_->faults = of.program.faults;
  // Nothing says whose calls they hit, and a call that comes by itself needs its time.
  for (ArmableFault& each : out_->faults) each.is_background = true;
  in_blocks_ = of.clients > 1;
  PropertyFinding finding;
  finding.first = finding.program = of.program.program;
  auto executed = execute_repeatedly(&finding.program);
  if (!executed) return executed.error();
  if (stopped_) return {};
  out_->executed = 1;
  out_->finished = true;
  if (!executed->violation) {
    out_->replay = "not reproduced: the program passed";
    return {};
  }
  out_->replay = executed->violation->kind == of.kind
                     ? "reproduced"
                     : "not reproduced: it failed in another way than before (" + of.kind + ")";
  finding.is_replay = true;
  finding.replays = 1;
  finding.replays_alike = executed->violation->kind == of.kind ? 1 : 0;
  finding.shrunk = std::move(executed).value();
  out_->findings.push_back(std::move(finding));
  return {};
}

Result<ExecutedProgram> PropertyTester::execute_repeatedly(Program* program) {
  // An order that is made to happen is the same each time.
  if (!in_blocks_ || !program->holds.empty()) return execute(*program);
  const uint64_t times = request_.repetitions.value_or(test_.property->repetitions);
  learns_calls_ = true;
  auto executed = execute(*program);
  learns_calls_ = false;
  const auto schedules = schedules_of(*program);
  Program next = *program;
  learns_schedules_ = true;
  for (uint64_t i = 1; i < times && executed && !executed->violation && !is_over(); ++i) {
    next.holds = i <= schedules.size() ? schedules[i - 1] : std::vector<property::Hold>();
    executed = execute(next);
  }
  learns_schedules_ = false;
  if (executed && executed->schedule == ExecutedProgram::Schedule::kHappened)
    *program = std::move(next);
  return executed;
}

// A program whose commands happened in some order at the same time: is there an order that fails alike, and can be made to happen?
Result<Program> PropertyTester::with_schedule(const Program& program, const Violation& violation) {
  if (!in_blocks_ || !program.holds.empty()) return program;
  const auto schedules = schedules_of(program);
  learns_schedules_ = true;
  Program out = program;
  for (size_t i = 0; i < schedules.size() && i < kMostSchedules && out.holds.empty() && !is_over();
       ++i) {
    Program next = program;
    next.holds = schedules[i];
    const auto executed = execute(next);
    if (!executed) return executed.error();
    if (executed->violation && executed->violation->kind == violation.kind &&
        executed->schedule == ExecutedProgram::Schedule::kHappened)
      out = std::move(next);
  }
  learns_schedules_ = false;
  return out;
}

void PropertyTester::tell(const std::optional<Shrinking>& shrunk) const {
  const uint64_t done = out_->executed, left = request_.programs - done;
  nlohmann::json event = {{"type", "program"},
                          {"test", test_.name},
                          {"executed", done},
                          {"planned", request_.programs},
                          {"open", left}};
  const double seconds = seconds_since(began_);
  if (shrunk) {
    event["items"] = shrunk->items;
    event["tried"] = shrunk->tried;
  } else if (done > 0 && seconds > 0) {
    event["rate"] = static_cast<double>(done) / seconds;
    event["eta_seconds"] = seconds / static_cast<double>(done) * static_cast<double>(left);
  }
  session_.sink(std::move(event));
}

Result<void> PropertyTester::search() {
  began_ = std::chrono::steady_clock::now();
  in_blocks_ = number_of_clients_ > 1;
  const property::GeneratorOptions options{test_.property->length, test_.property->fault_weight,
                                           test_.property->request_weight, number_of_clients_};
  if (out_->faults.empty())
    out_->notes.push_back("no call of the application may get a fault: the programs have none");
  for (uint64_t i = 0; i < request_.programs && !is_over(); ++i) {
    // Programs of neighbouring seeds have nothing in common.
    seed_ = request_.seed * kMixed + i;
    Random random(seed_ * kMixed + 1);
    auto program = generate(model_.get(), out_->faults, options, &random);
    if (!program) return program.error();
    if (session_.tries)
      session_.tries("program " + std::to_string(i + 1) + " of " +
                     std::to_string(request_.programs));
    counts_ = true;
    auto executed = execute_repeatedly(&program.value());
    counts_ = false;
    if (!executed) return executed.error();
    if (stopped_) return {};
    ++out_->executed;
    tell();
    if (!executed->violation) continue;
    if (auto reported = report(i + 1, program.value(), executed.value()); !reported)
      return reported;
    if (!out_->findings.empty() || once_.size() >= kMostOnce) break;
  }
  if (out_->findings.empty() && !once_.empty()) out_->findings.push_back(std::move(once_.front()));
  out_->finished = !is_over();
  return {};
}

// Services that were wedged stay so; what is executed next has to begin as the first program did.
Result<void> PropertyTester::restart() {
  lane_.stop_services();
  if (auto started = lane_.start_services(); !started) return started;
  return start_clients();
}

Result<void> PropertyTester::report(uint64_t number, const Program& program,
                                    const ExecutedProgram& seen) {
  // What the model has said is shrunk only if it says so again.
  if (const std::string contradiction = model_->contradiction(); !contradiction.empty())
    return Error{contradiction};
  const Violation& violation = *seen.violation;
  PropertyFinding finding;
  finding.seed = request_.seed;
  finding.program_number = number;
  finding.first = program;
  const auto again = [&](const Program& smaller) -> Result<std::optional<ExecutedProgram>> {
    if (is_over()) return std::optional<ExecutedProgram>();
    if (auto restarted = restart(); !restarted) return restarted.error();
    Program same = smaller;
    auto executed = execute_repeatedly(&same);
    if (!executed) return executed.error();
    if (stopped_) return std::optional<ExecutedProgram>();
    return std::optional(std::move(executed).value());
  };
  const auto is_alike = [&](const ExecutedProgram& executed) {
    // What a schedule did not make happen would not happen again.
    return executed.violation && executed.violation->kind == violation.kind &&
           (executed.schedule == ExecutedProgram::Schedule::kNone ||
            executed.schedule == ExecutedProgram::Schedule::kHappened);
  };
  Shrinking shrinking{program.items.size(), 0};
  const property::FailsAlike fails_alike =
      [&](const Program& smaller) -> Result<std::optional<bool>> {
    if (out_->shrinking >= kMostShrinking) return std::optional<bool>();
    if (session_.tries)
      session_.tries("a smaller program: " + std::to_string(smaller.items.size()) + " items");
    tell(shrinking);
    auto executed = again(smaller);
    if (!executed) return executed.error();
    if (!executed.value()) return std::optional<bool>();
    ++out_->shrinking;
    ++shrinking.tried;
    const bool alike = is_alike(*executed.value());
    if (alike) shrinking.items = smaller.items.size();
    return std::optional(alike);
  };
  auto begin = with_schedule(program, violation);
  if (!begin) return begin.error();
  auto shrunk = property::shrink(begin.value(), model_.get(), fails_alike);
  if (!shrunk) return shrunk.error();
  finding.program = shrunk->program;
  finding.steps = shrunk->steps;
  finding.finished = shrunk->finished;
  finding.shrunk = seen;
  for (int i = 0; i < kReplays; ++i) {
    auto executed = again(finding.program);
    if (!executed) return executed.error();
    if (!executed.value()) break;
    ++finding.replays;
    if (!is_alike(*executed.value())) continue;
    if (++finding.replays_alike == 1) finding.shrunk = std::move(*executed.value());
  }
  finding.invented = invented_in(finding.program);
  // A fault of the program before may have outlived it: what passes on services that are started anew is looked for elsewhere first.
  const bool is_once = number > 0 && finding.replays == kReplays && finding.replays_alike == 0;
  (is_once ? once_ : out_->findings).push_back(std::move(finding));
  return {};
}

}  // namespace filibuster
