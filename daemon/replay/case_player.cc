#include "daemon/replay/case_player.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/protocol/shown_clock.h"
#include "daemon/base/descriptors.h"
#include "daemon/replay/entry_client.h"

namespace filibuster::replay {
namespace {

constexpr std::chrono::milliseconds kEntryLimit{30'000};
constexpr std::chrono::milliseconds kLateCalls{300};  // longer than a recording waits for them
constexpr int kLogLines = 20;

void show_draws(const std::vector<cases::Draw>& draws, bool of_process, AgentHub* hub) {
  std::vector<ShownDraw> out;
  for (const cases::Draw& each : draws)
    out.push_back({find_draw_source(each.source), of_process, each.own != 0,
                   each.own != 0 ? std::string(each.own, '\0') : each.bytes});
  hub->show_draws(out);
}

}  // namespace

Result<std::unique_ptr<CasePlayer>> CasePlayer::make(const Config& config, const TestConfig& test,
                                                     const std::string& service, Lane* lane,
                                                     CaseAnswers* answers,
                                                     std::atomic<uint32_t>* executions) {
  auto runner = ExecutionRunner::create(config, test, lane->place(), &lane->hub(),
                                        &lane->services(), &lane->owned());
  if (!runner) return runner.error();
  return std::unique_ptr<CasePlayer>(
      new CasePlayer(config, service, lane, answers, executions, std::move(runner).value()));
}

// What went elsewhere was not answered from the case, and may have had any effect: nothing is proven then.
std::vector<std::string> CasePlayer::calls_elsewhere(const ExecutionRecord& record) const {
  const auto& services = config_.services;
  std::vector<std::string> out;
  for (const RpcRecord& rpc : record.rpcs) {
    if ((rpc.flags & kRpcEntry) != 0 || !(rpc.caller == service_ || is_part(rpc.caller))) continue;
    const bool is_known = std::any_of(services.begin(), services.end(),
                                      [&](const auto& each) { return each.name == rpc.service; });
    if (!is_known)
      out.push_back((rpc.caller == service_ ? std::string("the service") : rpc.caller) +
                    " called " + rpc.method + " " + rpc.target + " of " + rpc.peer +
                    ", which is no service of the configuration, and was not answered for");
  }
  for (const NotInterposedRecord& each : record.not_interposed) {
    if (!each.outgoing || !(each.service == service_ || is_part(each.service)) ||
        is_part(each.target_service) || each.reason == reason_name(NotInterposedReason::kUdp))
      continue;
    out.push_back("what the service sent to " + each.peer + " is not known: " + each.reason);
  }
  return out;
}

bool CasePlayer::is_part(const std::string& service) const {
  return std::any_of(config_.services.begin(), config_.services.end(), [&](const auto& each) {
    return each.name == service && each.part_of == service_;
  });
}

// Precondition of the player: the configuration has it.
const ServiceConfig& CasePlayer::config_service() const {
  return *std::find_if(config_.services.begin(), config_.services.end(),
                       [&](const auto& each) { return each.name == service_; });
}

uint16_t CasePlayer::port_of(const cases::Request& request) const {
  const ServiceConfig& service = config_service();
  std::string name = request.port;
  if (name.empty() && service.ports.contains(service.name)) name = service.name;
  if (name.empty() && !service.ports.empty()) name = service.ports.begin()->first;
  const auto found = lane_.place().ports.find(name);
  return found == lane_.place().ports.end() ? uint16_t{0} : found->second;
}

void show_start_of_recording(const LoadedSet& set, bool shows_time, Lane* lane) {
  lane->follow_draws();
  show_draws(set.process.draws, true, &lane->hub());
  if (set.set.host) lane->show_host_name(set.set.host->name);
  if (set.cases.empty() || !shows_time) return;
  lane->show_time_of_recording();
  lane->hub().show_time(set.cases.front().base_us);
}

void CasePlayer::show_recording(const LoadedSet& set, bool shows_time) {
  process_draws_ = set.process.draws;
  if (shows_time && !set.cases.empty()) first_us_ = set.cases.front().base_us;
}

// It goes on from there.
void CasePlayer::show_time(int64_t now_us) {
  if (first_us_) lane_.hub().show_time(now_us + later_us_);
}

Result<void> CasePlayer::restart() {
  runner_.leave();
  lane_.stop_services();
  answers_.start();
  show_time(first_us_.value_or(0));
  show_draws(process_draws_, true, &lane_.hub());
  return lane_.start_services();
}

Result<Played> CasePlayer::play(const cases::Case& of) {
  Played out;
  cases::EntryEnd end;
  const auto began = std::chrono::steady_clock::now();
  // The next number is that of the time behind it.
  out.execution = executions_.fetch_add(2) + 1;
  auto executed = runner_.run_body(out.execution, {}, [&](ExecutionResult* result) -> Result<void> {
    answers_.begin(of, out.execution);
    show_time(of.base_us);
    show_draws(of.draws, false, &lane_.hub());
    end = send_entry(of.request, port_of(of.request), kEntryLimit, lane_.place().wake_fd);
    answers_.wait_for_calls(kLateCalls);
    result->exit = ExitStatus{};
    result->stopped = is_readable(lane_.place().wake_fd);
    return {};
  });
  if (!executed) return executed.error();
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  out.stopped = executed->stopped;
  std::vector<std::string> doubts = calls_elsewhere(executed->record);
  std::string died;
  for (const ServiceEnd& ended : executed->ended) {
    const std::string text = "service '" + ended.name + "' " + ended.how();
    (ended.name == service_ ? died : doubts.emplace_back()) = text;
  }
  for (const std::string& note : executed->record.notes) {
    if (note.find(kTimeNotShown) != std::string::npos) out.time_notes.insert(note);
  }
  if (first_us_ && config_service().is_attached())
    out.time_notes.insert("service '" + service_ + "': " + std::string(kTimeNotShown) +
                          "it is reached from outside (docs/attach.md)");
  out.verdict = answers_.end(end, std::move(doubts), std::move(died));
  if (out.verdict.judged != cases::Judged::kPassed && !out.stopped)
    out.output = last_lines(lane_.place().log_path(service_), kLogLines);
  out.missed = answers_.missed();
  out.answer = std::move(end.answer);
  return out;
}

Rejudged CasePlayer::rejudged(bool waits) {
  pollfd woken{lane_.place().wake_fd, POLLIN, 0};
  if (waits) poll(&woken, 1, static_cast<int>(kLateCalls.count()));
  return answers_.rejudged();
}

}  // namespace filibuster::replay
