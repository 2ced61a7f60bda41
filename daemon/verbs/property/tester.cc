#include "daemon/verbs/property/tester.h"

#include <algorithm>
#include <set>

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
constexpr size_t kMostPaths =
    4;  // of one method between two services, until an edge is for all of them
constexpr uint64_t kMixed =
    0x9e3779b97f4a7c15;                    // so that neighbouring seeds have nothing in common
constexpr uint32_t kMostShrinking = 1000;  // programs
constexpr size_t kMostSchedules = 50;      // of one program

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
    if (!executed->violation) continue;
    if (i == 1)
      return Error{
          "the application is not reset between programs: the same program passes at first, and then " +
          executed->violation->text + ". Its reset is the command 'reset' of the client"};
    return report(request_.seed, program.value(), *executed->violation);
  }
  return {};
}

std::string answer_key(const std::string& service, bool grpc, uint32_t code) {
  return service + (grpc ? " grpc " : " ") + std::to_string(code);
}

// What a connection does may happen to any service, and so may what a channel of gRPC makes of it.
std::vector<std::string> PropertyTester::invented_in(const Program& program) const {
  std::vector<std::string> out;
  for (const property::Item& item : program.items) {
    if (!item.is_fault()) continue;
    const ArmableFault& fault = out_->faults[*item.fault];
    const bool grpc = fault.fault.kind == FaultKind::kGrpc;
    if (fault.has_evidence || (!grpc && fault.fault.kind != FaultKind::kStatus)) continue;
    if (grpc && (fault.fault.code == grpc::Code::kUnavailable ||
                 fault.fault.code == grpc::Code::kDeadlineExceeded))
      continue;
    const auto code = grpc ? static_cast<uint32_t>(fault.fault.code) : fault.fault.status;
    if (!seen_answers_.contains(answer_key(fault.edge.service, grpc, code)))
      out.push_back(to_text(fault.fault) + " of " + fault.edge.service);
  }
  return out;
}

// As the test says, else as the configuration does.
std::vector<ArmableFault> PropertyTester::faults_of(const RpcRecord& rpc) const {
  std::vector<ArmableFault> out;
  if (test_.property->faults.empty()) {
    const auto rule = std::find_if(
        session_.config.faults.begin(), session_.config.faults.end(), [&](const FaultRule& each) {
          return rule_matches(session_.config, each, rpc.caller, rpc.service, rpc.method,
                              rpc.target, rpc.protocol());
        });
    for (const FaultSpec& fault : choose_faults(session_.config, rpc, true).faults) {
      out.push_back({to_text(fault), {}, fault});
      out.back().has_evidence = rule != session_.config.faults.end() && rule->has_evidence;
    }
    return out;
  }
  for (const PropertyFault& each : test_.property->faults) {
    if (!rule_matches(session_.config, each.rule, rpc.caller, rpc.service, rpc.method, rpc.target,
                      rpc.protocol()))
      continue;
    for (const FaultSpec& fault : each.rule.inject) {
      ArmableFault armable{each.name.empty() ? to_text(fault) : each.name, {}, fault};
      armable.has_evidence = each.rule.has_evidence;
      armable.weight = each.weight;
      armable.lasts = each.lasts;
      armable.likelier = each.likelier;
      out.push_back(std::move(armable));
    }
  }
  return out;
}

void PropertyTester::learn_faults(const ExecutionRecord& record) {
  std::map<std::vector<std::string>, std::set<std::string>> paths;  // by caller, service, method
  std::map<std::vector<std::string>, const RpcRecord*> one_of;
  for (const RpcRecord& rpc : record.rpcs) {
    if (rpc.caller == kTestService) continue;
    // No fault is armed while the application is reset.
    if (begun_ns_.empty() || rpc.issued_ns < begun_ns_.front()) continue;
    const std::string path(request_path(rpc.method, rpc.target));
    paths[{rpc.caller, rpc.service, rpc.method}].insert(path);
    one_of.emplace(std::vector<std::string>{rpc.caller, rpc.service, rpc.method, path}, &rpc);
  }
  for (const auto& [edge, rpc] : one_of) {
    const bool is_for_all = paths[{edge[0], edge[1], edge[2]}].size() > kMostPaths;
    const Edge to{edge[0], edge[1], edge[2], is_for_all ? "" : edge[3]};
    for (ArmableFault fault : faults_of(*rpc)) {
      fault.edge = to;
      fault.is_background = rpc->cause == Cause::kNone;
      const bool is_known =
          std::any_of(out_->faults.begin(), out_->faults.end(), [&](const ArmableFault& each) {
            return each.edge == to && each.name == fault.name &&
                   to_text(each.fault) == to_text(fault.fault);
          });
      if (!is_known) out_->faults.push_back(std::move(fault));
    }
  }
}

Result<void> PropertyTester::replay(const PropertyRequest::Replay& of) {
  out_->faults = of.program.faults;
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

Result<void> PropertyTester::search() {
  in_blocks_ = number_of_clients_ > 1;
  const property::GeneratorOptions options{test_.property->length, test_.property->fault_weight,
                                           test_.property->request_weight, number_of_clients_};
  if (out_->faults.empty())
    out_->notes.push_back("no call of the application may get a fault: the programs have none");
  for (uint64_t i = 0; i < request_.programs && !is_over(); ++i) {
    const uint64_t seed = request_.seed + i;
    seed_ = seed;
    Random random(seed * kMixed + 1);
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
    if (executed->violation) return report(seed, program.value(), *executed->violation);
  }
  out_->finished = !is_over();
  return {};
}

// Services that were wedged stay so; what is executed next has to begin as the first program did.
Result<void> PropertyTester::restart() {
  lane_.stop_services();
  if (auto started = lane_.start_services(); !started) return started;
  return start_clients();
}

Result<void> PropertyTester::report(uint64_t seed, const Program& program,
                                    const Violation& violation) {
  PropertyFinding finding;
  finding.seed = seed;
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
  const property::FailsAlike fails_alike =
      [&](const Program& smaller) -> Result<std::optional<bool>> {
    if (out_->shrinking >= kMostShrinking) return std::optional<bool>();
    if (session_.tries)
      session_.tries("a smaller program: " + std::to_string(smaller.items.size()) + " items");
    auto executed = again(smaller);
    if (!executed) return executed.error();
    if (!executed.value()) return std::optional<bool>();
    ++out_->shrinking;
    return std::optional(is_alike(*executed.value()));
  };
  auto begin = with_schedule(program, violation);
  if (!begin) return begin.error();
  auto shrunk = property::shrink(begin.value(), model_.get(), fails_alike);
  if (!shrunk) return shrunk.error();
  finding.program = shrunk->program;
  finding.steps = shrunk->steps;
  finding.finished = shrunk->finished;
  finding.shrunk.violation = violation;
  for (int i = 0; i < kReplays; ++i) {
    auto executed = again(finding.program);
    if (!executed) return executed.error();
    if (!executed.value()) break;
    ++finding.replays;
    if (!is_alike(*executed.value())) continue;
    if (++finding.replays_alike == 1) finding.shrunk = std::move(*executed.value());
  }
  finding.invented = invented_in(finding.program);
  out_->findings.push_back(std::move(finding));
  return {};
}

}  // namespace filibuster
