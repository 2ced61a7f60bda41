#include "daemon/verbs/verify/tester.h"

#include <algorithm>

#include "daemon/base/descriptors.h"
#include "daemon/base/random.h"
#include "daemon/cases/case_folder.h"
#include "daemon/cases/route.h"
#include "daemon/record/redactor.h"
#include "daemon/replay/accept.h"
#include "daemon/replay/entry_client.h"

namespace filibuster {

using cases::Judged;

namespace {

constexpr std::chrono::milliseconds kEntryLimit{30'000};
constexpr std::chrono::milliseconds kLateCalls{300};  // longer than a recording waits for them
constexpr int kLogLines = 20;
constexpr int kMostUpdates = 10;  // replays of one case until it passes with what is accepted

std::string case_name_of(const cases::Case& of) {
  const size_t slash = of.file.rfind('/') + 1;
  return of.file.substr(slash, of.file.rfind('.') - slash);
}

bool is_wanted(const cases::Case& of, const std::vector<std::string>& only) {
  return only.empty() || std::find(only.begin(), only.end(), case_name_of(of)) != only.end();
}

}  // namespace

VerifyTester::VerifyTester(SessionContext* session, Lane* lane, const TestConfig& test,
                           const VerifyRequest& request, replay::CaseAnswers* answers)
    : session_(*session), lane_(*lane), test_(test), request_(request), answers_(*answers) {}

// What went elsewhere was not answered from the case, and may have had any effect: nothing is proven then.
std::vector<std::string> VerifyTester::calls_elsewhere(const ExecutionRecord& record) const {
  const std::string& service = request_.set.set.service;
  const auto& services = session_.config.services;
  std::vector<std::string> out;
  for (const RpcRecord& rpc : record.rpcs) {
    if ((rpc.flags & kRpcEntry) != 0 || rpc.caller != service) continue;
    const bool is_known = std::any_of(services.begin(), services.end(),
                                      [&](const auto& each) { return each.name == rpc.service; });
    if (!is_known)
      out.push_back("the service called " + rpc.method + " " + rpc.target + " of " + rpc.peer +
                    ", which is no service of the configuration, and was not answered for");
  }
  for (const NotInterposedRecord& each : record.not_interposed) {
    if (!each.outgoing || each.service != service ||
        each.reason == reason_name(NotInterposedReason::kUdp))
      continue;
    out.push_back("what the service sent to " + each.peer + " is not known: " + each.reason);
  }
  return out;
}

uint16_t VerifyTester::port_of(const cases::Request& request) const {
  const auto& services = session_.config.services;
  const auto service = std::find_if(services.begin(), services.end(), [&](const auto& each) {
    return each.name == request_.set.set.service;
  });
  std::string name = request.port;
  if (name.empty() && service->ports.contains(service->name)) name = service->name;
  if (name.empty() && !service->ports.empty()) name = service->ports.begin()->first;
  const auto found = lane_.place().ports.find(name);
  return found == lane_.place().ports.end() ? uint16_t{0} : found->second;
}

Result<void> VerifyTester::run(VerifyResults* out) {
  const replay::LoadedSet& set = request_.set;
  for (const std::string& obstacle : lane_.obstacles()) out->notes.push_back(obstacle);
  for (const cases::Case& each : set.cases) out->all += is_wanted(each, request_.only) ? 1 : 0;
  auto runner = ExecutionRunner::create(session_.config, test_, lane_.place(), &lane_.hub(),
                                        &lane_.services(), &lane_.owned());
  if (!runner) return runner.error();
  runner_ = std::make_unique<ExecutionRunner>(std::move(runner).value());
  lane_.hub().set_hang_limit(hang_limit_of(session_.config.bounds, 0));
  for (const cases::Case& each : set.cases) {
    if (stopped_) return {};
    if (!is_wanted(each, request_.only)) continue;
    if (session_.tries) session_.tries(case_name_of(each));
    if (!each.start.empty()) {
      if (auto brought = bring_into_state(each); !brought) return brought;
    }
    auto row = replay(each);
    if (!row) return row.error();
    if (request_.updates && row->verdict.judged == Judged::kDiffers) {
      if (auto updated = update(each, &row.value()); !updated) return updated;
    }
    played_.push_back(row->updated ? &accepted_.back() : &each);
    if (stopped_) return {};
    out->cases.push_back(std::move(row).value());
  }
  out->process_misses = answers_.process_misses();
  return {};
}

Result<void> VerifyTester::restart() {
  lane_.stop_services();
  answers_.start();
  return lane_.start_services();
}

// The cases that make the state in which this one began, on a process of their own.
Result<void> VerifyTester::bring_into_state(const cases::Case& of) {
  if (auto restarted = restart(); !restarted) return restarted;
  played_.clear();
  for (const std::string& name : of.start) {
    const auto found =
        std::find_if(request_.set.cases.begin(), request_.set.cases.end(),
                     [&](const cases::Case& each) { return case_name_of(each) == name; });
    if (found == request_.set.cases.end())
      return Error{of.file + ": there is no case '" + name + "', which 'start' names"};
    if (auto replayed = replay(*found); !replayed) return replayed.error();
  }
  return {};
}

Result<VerifiedCase> VerifyTester::replay(const cases::Case& of) {
  VerifiedCase row;
  row.file = of.file;
  row.name = case_name_of(of);
  row.route = cases::route_of(of.request.method, of.request.target);
  cases::EntryEnd end;
  const auto began = std::chrono::steady_clock::now();
  auto executed = runner_->run_body(
      ++session_.counters.next_execution, {}, [&](ExecutionResult* result) -> Result<void> {
        answers_.begin(of);
        end =
            replay::send_entry(of.request, port_of(of.request), kEntryLimit, lane_.place().wake_fd);
        answers_.wait_for_calls(kLateCalls);
        result->exit = ExitStatus{};
        result->stopped = is_readable(lane_.place().wake_fd);
        return {};
      });
  if (!executed) return executed.error();
  row.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  stopped_ = stopped_ || executed->stopped;
  std::vector<std::string> doubts = calls_elsewhere(executed->record);
  for (const ServiceEnd& ended : executed->ended)
    doubts.push_back("service '" + ended.name + "' " + ended.how());
  row.verdict = answers_.end(of, end, std::move(doubts));
  if (row.verdict.judged == Judged::kPassed || stopped_) return row;
  row.output = last_lines(lane_.place().log_path(request_.set.set.service), kLogLines);
  answer_ = std::move(end.answer);
  return row;
}

// The state in which the case began: what was replayed before it, on a process of its own.
Result<void> VerifyTester::replay_again(const cases::Case& of) {
  if (!of.start.empty()) return bring_into_state(of);
  if (auto restarted = restart(); !restarted) return restarted;
  for (const cases::Case* each : played_) {
    if (stopped_) return {};
    if (auto replayed = replay(*each); !replayed) return replayed.error();
  }
  return {};
}

Result<void> VerifyTester::update(const cases::Case& of, VerifiedCase* row) {
  cases::Case next = of;
  cases::Verdict verdict = row->verdict;
  for (int i = 0; i < kMostUpdates && !stopped_; ++i) {
    auto accepted = replay::accepted(next, verdict, answer_,
                                     [&](size_t arrival) { return answers_.arrived(arrival); });
    if (!accepted) {
      row->not_updated = accepted.error().message;
      return {};
    }
    next = std::move(accepted).value();
    const bool is_whole =
        std::none_of(verdict.differences.begin(), verdict.differences.end(),
                     [](const auto& each) { return each.kind == cases::DifferenceKind::kInput; });
    // Where every call has had its answer, the service's own answer is the one that it gives.
    if (is_whole) return save(std::move(next), row);
    if (auto ready = replay_again(of); !ready) return ready;
    auto replayed = replay(next);
    if (!replayed) return replayed.error();
    verdict = std::move(replayed->verdict);
    if (verdict.judged == Judged::kNoConclusion) {
      row->not_updated = verdict.why;
      return {};
    }
    if (verdict.judged == Judged::kPassed) return save(std::move(next), row);
  }
  row->not_updated = "it differs in another way each time that it is replayed";
  return {};
}

// The service has its own secrets, which are not written.
Result<void> VerifyTester::save(cases::Case accepted, VerifiedCase* row) {
  record::Redactor redactor(random_hexadecimal());
  redactor.redact(&accepted);
  const std::string folder = accepted.file.substr(0, accepted.file.rfind('/'));
  const auto saved = cases::save_file(folder, cases::write_case(accepted, row->name));
  if (!saved) row->not_updated = saved.error().message;
  row->updated = saved.ok();
  accepted_.push_back(std::move(accepted));
  return {};
}

}  // namespace filibuster
