#include "daemon/explore/explorer.h"

#include <poll.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "daemon/base/fail_point.h"
#include "daemon/explore/program_files.h"
#include "daemon/report/dependency.h"
#include "daemon/report/seen.h"
#include "daemon/report/unexplained.h"

namespace filibuster {
namespace {

using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

bool is_woken(int fd) {
  pollfd watched{fd, POLLIN, 0};
  return fd >= 0 && poll(&watched, 1, 0) > 0;
}

}  // namespace

std::string with_service_logs(std::string output, const ExecutionResult& result) {
  for (const ServiceEnd& end : result.ended) {
    if (end.output.empty()) continue;
    output += (output.empty() ? "" : "\n") + std::string("--- last lines of ") + end.name +
              " ---\n" + end.output;
  }
  return output;
}

std::string session_digest(const Config& config, const std::string& config_text,
                           const std::string& test) {
  std::string all = std::to_string(search::SearchStore::kMajor) + test + '\0' + config_text + '\0' +
                    config.directory + '\0';
  all += std::to_string(config.index_parts) + std::string(reduction_name(config.reduce)) +
         (config.fast_timeouts ? "f" : "-") + std::to_string(config.bounds.max_faults);
  for (const std::string& rule : describe_faults(config)) all += '\0' + rule;
  return to_hex(hash_text(all)).substr(0, 16);
}

Explorer::Explorer(SessionContext* session, Lane* lane, const TestConfig& test)
    : session_(*session),
      lane_(*lane),
      test_(test),
      config_(session->config),
      restart_(session->restart),
      evidence_(session, lane),
      varies_(&test_, &session->config, [this](const MaskTable& masks) { mask(masks); }),
      findings_(session, lane, &test_),
      drifts_(session),
      suspects_(session->suspects) {}

void Explorer::warn(const std::string& text) {
  session_.warn(text);
}

Result<void> Explorer::make_run() {
  auto run = TestRun::make(&session_, &lane_, test_, config_);
  if (!run) return run.error();
  run_ = std::move(run).value();
  evidence_.add_obstacles(run_->obstacles());
  return {};
}

Result<void> Explorer::open_store() {
  const std::string folder =
      lane_.place().root + "/sessions/" + session_digest(config_, session_.config_text, test_.name);
  const std::string path = folder + "/search.db";
  if (auto made = make_private_folder(folder); !made) return made;
  std::error_code failed;
  const auto open = [&]() -> Result<void> {
    auto store = search::SearchStore::open(path);
    if (!store) return store.error();
    store_ = std::move(store).value();
    findings_.keep_in(store_.get());
    evidence_.keep_in(store_.get());
    varies_.keep_in(store_.get());
    drifts_.keep_in(store_.get());
    return {};
  };
  if (auto opened = open(); !opened) return opened;
  auto progress = store_->progress();
  if (!progress) return progress.error();
  const bool begun = !progress->test.empty();
  // A search is continued only if it was interrupted and its programs are the same; else it begins anew.
  files_ = program_files(config_, lane_.place(), test_);
  bool anew = restart_ || (begun && progress->finished);
  if (!anew && begun) {
    auto why = files_changed();
    if (!why) return why.error();
    anew = !why.value().empty();
    if (anew) tell_why_anew(why.value());
  }
  if (session_.deadline && begun) {
    if (auto noted = note_changed_files(); !noted) return noted;
  }
  if (!begun && !restart_) tell_if_configured_otherwise(folder);
  if (anew) {
    store_.reset();
    for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
      fs::remove(path + suffix, failed);
    }
    if (auto opened = open(); !opened) return opened;
  }
  if (auto set = store_->set_progress({test_.name, false}); !set) return set;
  if (auto kept = keep_files(); !kept) return kept;

  auto dispatcher = Dispatcher::open(config_, session_.deadline, suspects_, store_.get());
  if (!dispatcher) return dispatcher.error();
  dispatcher_ = std::move(dispatcher).value();
  memory_.keep_in(store_.get(), dispatcher_.get());
  return load_results();
}

void Explorer::mask(const MaskTable& masks) {
  lane_.hub().set_masks(masks);
  if (pool_) pool_->each_further([&](Lane& lane, TestRun&) { lane.hub().set_masks(masks); });
}

Result<void> Explorer::note_met(const Observation& seen, const ExecutionRecord& record) {
  for (const RpcRecord& rpc : record.rpcs) known_answers_.insert(rpc.response);
  return evidence_.see_met(seen, record, varies_.masks(), exploration_.report.reference);
}

Result<Attempt> Explorer::attempt(const std::vector<PlannedRpcFault>& plan,
                                  TestStarter::Start start, std::optional<Attempt> first) {
  // What has run on any lane needs lane 0 only if it is to be repeated there.
  const bool repeats = !first || is_inconclusive(judge(first->result, plan).verdict);
  const LanePool::Hold hold(repeats ? pool_.get() : nullptr, LanePool::Hold::Which::kFirst);
  const auto observer = [this](const Attempt& one) {
    evidence_.see(one.result);
    for (const ServiceEnd& end : one.result.ended) {
      if (end.by_hand) ended_by_hand_ = end.name;
    }
    note_repetition(one);
  };
  return run_->attempt(plan, observer, std::chrono::milliseconds(0), start, std::move(first));
}

void Explorer::note_repetition(const Attempt& one) {
  if (!one.runs_again || one.number > 1 || !is_inconclusive(one.judgement.verdict)) return;
  evidence_.note("execution " + std::to_string(one.result.record.execution) +
                 " was inconclusive and was run again: " + one.judgement.detail);
}

Result<bool> Explorer::run_search() {
  dispatcher_->start_clock();
  search_began_ = Clock::now();
  if (auto offered = offer_page(); !offered) return offered.error();
  Clock::time_point ended = Clock::now();  // the last execution
  double stored = store_->seconds();
  std::optional<Phases> last;
  while (true) {
    if (last) {
      last->store = store_->seconds() - stored;
      last->verdict =
          std::max(0.0, std::chrono::duration<double>(Clock::now() - ended).count() - last->store);
      profile_.add(*last);
      last.reset();
    }
    if (is_woken(lane_.place().wake_fd)) return false;
    if (auto decided = reconsider_snapshots(); !decided || !decided.value()) return decided;
    if (config_.bounds.stop_at_first && findings_.has_new_failure()) {
      const uint64_t open = dispatcher_->search().counts().open;
      if (open > 0) {
        exploration_.report.skipped.push_back(
            {std::to_string(open) + " scheduled executions", "bound stop_at_first: one failure"});
      }
      return true;
    }
    auto handed_out = dispatcher_->next();
    if (!handed_out) return handed_out.error();
    if (!handed_out.value()) return true;
    const Dispatcher::Job& job = *handed_out.value();
    // What was handed out and is not executed stays open: the same command goes on with it.
    if (dispatcher_->is_time_over()) {
      exploration_.report.time_over = true;
      return true;
    }
    auto taken = take_over(job.execution);
    if (!taken) return taken.error();
    if (taken.value()) continue;
    if (const InjectedFault* gone = varies_.given_up(job)) {
      if (auto left = leave_out(job, *gone); !left) return left.error();
      continue;
    }
    bool seen_twice = false;
    auto tried = attempt_job(job, &seen_twice);
    if (!tried) return tried.error();
    if (tried->result.stopped) return false;
    ended = Clock::now();
    stored = store_->seconds();
    last = tried->result.phases;
    if (auto waited = wait_for_what_comes(job, &tried.value()); !waited) return waited.error();
    if (tried->result.stopped) return false;
    if (tried->judgement.verdict == Verdict::kPlanNotMet) {
      if (const InjectedFault* missing = varies_.did_not_come(job, tried->result.record)) {
        if (auto left = leave_out(job, *missing); !left) return left.error();
        continue;
      }
      auto learned = learn(job, &tried.value());
      if (!learned) return learned.error();
      if (exploration_.stopped) return false;
      if (learned.value()) continue;
    }
    if (is_by_time(tried->judgement.verdict) && !seen_twice &&
        !findings_.belongs_to_earlier(job.faults)) {
      auto again = attempt(job.plan);
      if (!again) return again.error();
      if (again->result.stopped) return false;
      seen_twice = is_by_time(again->judgement.verdict);
      // An inconclusive second run does not take the failure back.
      const bool conclusive = !is_inconclusive(again->judgement.verdict);
      if (conclusive && !seen_twice) {
        evidence_.warn_and_note("execution " + to_line(job.faults) + " exceeded a time limit (" +
                                tried->judgement.detail +
                                "), but not when it was run again: that run counts");
      }
      if (conclusive) tried = std::move(again);
    }
    if (auto done = conclude(job, tried.value()); !done) return done.error();
    if (const Execution* failure = findings_.failure(job.execution.id)) {
      if (auto told = found(*failure, job.plan, seen_twice); !told) return told.error();
    }
    if (auto offered = offer_page(); !offered) return offered.error();
    if (ended_by_hand_.empty()) {
      auto looked = look_again_in_between();
      if (!looked || !looked.value()) return looked;
      continue;
    }
    return Error{"service '" + ended_by_hand_ +
                 "', which this session did not start, ended in execution " + to_line(job.faults) +
                 "; start it again, and the same command goes on where this one stopped"};
  }
}

Result<void> Explorer::conclude(const Dispatcher::Job& job, const Attempt& attempt) {
  const std::vector<InjectedFault>& faults = job.faults;
  Execution execution;
  execution.test = test_.name;
  execution.id = job.execution.id;
  execution.number = attempt.result.record.execution;
  execution.faults = faults;
  note_delivery(attempt.result.record, &execution.faults);
  execution.verdict = attempt.judgement.verdict;
  execution.detail = attempt.judgement.detail;
  execution.seconds = attempt.result.seconds;
  search::ResultRow row{execution.number,  execution.id, execution.verdict,
                        execution.seconds, {},           {}};
  const bool inconclusive = is_inconclusive(execution.verdict);
  if (inconclusive || execution.verdict == Verdict::kNotQuiescent) {
    const Skipped skipped{"execution " + to_line(faults),
                          inconclusive ? execution.detail
                                       : "it ran, but did not become quiet in time "
                                         "(bounds.quiesce_timeout): " +
                                             execution.detail,
                          inconclusive ? std::optional(attempt.judgement.cause) : std::nullopt};
    row.skipped = skipped;
    exploration_.report.skipped.push_back(skipped);
    for (const InjectedFault& fault : inconclusive ? faults : std::vector<InjectedFault>())
      evidence_.had_no_conclusion(describe_rpc(as_record(fault), varies_.masks()));
  }
  if (is_failure(execution.verdict)) {
    execution.output = with_service_logs(attempt.output, attempt.result);
    execution.seen = what_was_seen(attempt.result.record.rpcs, exploration_.report.reference);
    row.failure = execution;
    findings_.add(execution);
    if (auto kept = keep_tree(execution, attempt.result.record); !kept) return kept;
  }
  // The result is stored before the search is told: if the daemon dies between the two, the execution
  // is run again and its newer result replaces this one. The other order could lose a failure.
  if (auto put = store_->put_result(row); !put) return put;
  fail_point("recorded");
  ++since_look_;
  seconds_.push_back(static_cast<float>(execution.seconds));
  results_[execution.id] = {execution.number, execution.verdict,
                            static_cast<float>(execution.seconds)};
  if (!attempt.judgement.plan_met || inconclusive) {
    if (auto done = dispatcher_->abandon(execution.id, execution.detail); !done) return done;
  } else {
    const ExecutionRecord& record = attempt.result.record;
    note_appearances(record);
    if (auto kept = varies_.keep_appearances(); !kept) return kept;
    if (auto noted = note_sent_again(record); !noted) return noted;
    if (auto learned = dispatcher_->known().learn(record, varies_.masks(), varies_.unstable());
        !learned)
      return learned;
    auto seen = dispatcher_->observe(record, varies_.unstable(), varies_.masks());
    if (!seen) return seen.error();
    if (auto noted = note_met(seen.value(), record); !noted) return noted;
    if (auto done = dispatcher_->conclude(execution.id, seen->rpcs); !done) return done;
  }
  tell_execution(execution);
  return {};
}

void Explorer::tell_execution(const Execution& execution) {
  const search::SearchCounts counts = dispatcher_->search().counts();
  const Dispatcher::Estimate estimate = dispatcher_->estimate();
  std::vector<std::string> faults;
  for (const InjectedFault& fault : execution.faults) faults.push_back(to_line(fault));
  session_.sink({{"type", "execution"},
                 {"test", execution.test},
                 {"number", execution.number},
                 {"executed", counts.executed},
                 {"scheduled", counts.scheduled},
                 {"open", counts.open},
                 {"redundant", counts.redundant},
                 {"findings", findings_.count()},
                 {"faults", faults},
                 {"passed", execution.verdict == Verdict::kPassed},
                 {"verdict", verdict_name(execution.verdict)},
                 {"seconds", execution.seconds},
                 {"rate", estimate.rate},
                 {"eta_seconds", estimate.seconds_left}});
}

Exploration Explorer::explore() {
  const auto began = Clock::now();
  const auto work = [&]() -> Result<void> {
    if (auto opened = open_store(); !opened) return opened;
    resumed_ = dispatcher_->has_begun();
    exploration_.resumed = resumed_;
    session_.sink({{"type", "session"}, {"test", test_.name}, {"resumed", resumed_}});
    if (auto made = make_run(); !made) return made;
    if (auto begun = lane_.services().begin_coverage(coverage::Phase::kWithoutFaults); !begun) {
      return begun.error();
    }
    auto reference = run_reference();
    if (!reference) return reference.error();
    bool ended = reference.value();
    if (ended) {
      auto begun = begin_faults();
      if (!begun) return begun.error();
      ended = begun.value();
    }
    if (ended) {
      auto begun = begin_snapshots();
      if (!begun) return begun.error();
      ended = begun.value();
    }
    if (ended) begin_lanes();
    if (ended) {
      auto searched = run_search();
      if (!searched) return searched.error();
      ended = searched.value();
    }
    if (ended) {
      auto looked = look_again_at_the_end();
      if (!looked) return looked.error();
      ended = looked.value();
    }
    if (!exploration_.report.nothing_to_explore.empty()) {
      ended = true;
      evidence_.note("nothing to explore: " + exploration_.report.nothing_to_explore);
    }
    exploration_.stopped = !ended;
    if (auto kept = varies_.keep_appearances(true); !kept) return kept;
    // A search that met a bound is finished, too: the next run of the same command begins anew. What the
    // time did not suffice for is left to the next run.
    if (ended && !exploration_.report.time_over) {
      if (auto set = store_->set_progress({test_.name, true}); !set) return set;
    }
    const search::SearchCounts counts = dispatcher_->search().counts();
    exploration_.report.finished =
        ended && counts.open == 0 && counts.beyond_bound == 0 && counts.abandoned == 0;
    return store_->flush();
  }();
  end_lanes();
  if (dispatcher_) exploration_.report.search_seconds = dispatcher_->search().seconds();
  if (store_) exploration_.report.store_seconds = store_->seconds();
  if (!work.ok()) {
    exploration_.error = work.error();
    exploration_.report.error = work.error().message;
  }
  finish_report();
  exploration_.report.seconds = std::chrono::duration<double>(Clock::now() - began).count();
  dispatcher_.reset();
  store_.reset();
  return std::move(exploration_);
}

}  // namespace filibuster
