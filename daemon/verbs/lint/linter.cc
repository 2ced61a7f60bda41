#include "daemon/verbs/lint/linter.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>

#include "daemon/explore/reference_phase.h"
#include "daemon/lane/programs_outside.h"
#include "daemon/lint/probes.h"
#include "daemon/model/call_name.h"
#include "daemon/model/caller.h"
#include "daemon/model/counterexample.h"
#include "daemon/observe/observation.h"
#include "daemon/observe/silent_services.h"
#include "daemon/report/counterexample_json.h"
#include "daemon/report/dependency.h"
#include "daemon/report/text.h"

namespace filibuster {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kAfterProbe{2000};  // for the calls that follow the end of a silence
// Most faults that may be needed to reach a call site that is probed.
constexpr size_t kDeepest = 3;

// Failures that clients retry. The second one is tried if the first one was not retried.
constexpr const char* kFailures[] = {"status:503", "refused"};
constexpr const char* kGrpcFailures[] = {"grpc:UNAVAILABLE", "refused"};
constexpr const char* kRedisFailures[] = {"redis:LOADING", "refused"};
constexpr const char* kSealedFailures[] = {"reset", "refused"};
std::span<const char* const> failures_of(Protocol protocol) {
  switch (protocol) {
    case Protocol::kHttp:
      break;
    case Protocol::kGrpc:
      return kGrpcFailures;
    case Protocol::kRedis:
      return kRedisFailures;
    case Protocol::kSealed:
      return kSealedFailures;
  }
  return kFailures;
}
constexpr const char* kSilence = "timeout";

InjectedFault with_fault(const ExecutionRecord& record, const RpcRecord& rpc, const char* fault) {
  InjectedFault out = describe_for_report(rpcs_by_id(record), rpc);
  out.fault = fault;
  return out;
}

// Adds to the text of a finding the faults without which the call is not made.
lint::Finding behind(const std::vector<InjectedFault>& faults, lint::Finding finding) {
  if (!faults.empty()) finding.text += "; the call is only made under " + to_line(faults);
  return finding;
}

InjectedFault with_fault(const RpcRecord& rpc, const char* fault) {
  return with_fault(ExecutionRecord{}, rpc, fault);
}

}  // namespace

Linting Linter::lint() {
  const auto began = Clock::now();
  out_.result.test = test_.name;
  if (auto worked = work(); !worked) out_.error = worked.error();
  out_.result.finished = !out_.error && !out_.stopped;
  out_.result.seconds = std::chrono::duration<double>(Clock::now() - began).count();
  lint::choose(options_, &out_.result.findings);
  return std::move(out_);
}

Result<void> Linter::work() {
  auto run = TestRun::make(&session_, &lane_, test_, config_);
  if (!run) return run.error();
  run_ = std::move(run).value();
  auto& notes = out_.result.notes;
  for (const auto* lines : {&run_->obstacles(), &lane_.obstacles(), &lane_.place().port_notes})
    notes.insert(notes.end(), lines->begin(), lines->end());
  if (auto reference = run_reference(); !reference || out_.stopped) return reference;
  if (options_.probe) return run_probes();
  for (const Site& site : sites_)
    not_probed(site, "timeout and retries", "probes are switched off");
  return {};
}

Result<bool> Linter::accept(const Attempt& reference) {
  const std::string what = "the reference execution of test '" + test_.name + "' ";
  if (auto problem = run_->why_unusable(what, reference)) return *problem;
  if (!reference.result.record.rpcs.empty()) return true;
  std::string hints;
  for (const std::string& text : lane_.obstacles()) hints += "\n  - " + text;
  return Error{"no RPC was seen in " + what + "(it passed): there is nothing to look at" + hints};
}

Result<void> Linter::run_reference() {
  ReferencePhase::Options options;
  options.lane = &lane_;
  options.run = run_.get();
  options.observer = [](const Attempt&) {};
  options.accept = [this](const Attempt& attempt, size_t) { return accept(attempt); };
  ReferencePhase phase(std::move(options));
  const auto end = phase.run();
  if (!end) return end.error();
  out_.stopped = end.value() == ReferencePhase::End::kStopped;
  if (out_.stopped) return {};
  const ExecutionResult& result = phase.runs().back();
  for (const auto& [service, text] :
       services_without_agent(config_, result.record, lane_.hub().agents())) {
    const std::string whole =
        text + listener_outside(attach::Proc(), config_, lane_.place(), service);
    session_.warn(whole);
    out_.result.notes.push_back(whole);
  }
  for (const std::string& problem : result.record.runtime_problems) {
    session_.warn(problem);
    out_.result.notes.push_back(problem);
  }
  for (const std::string& note : result.record.notes) out_.result.notes.push_back(note);
  if (result.record.damaged_fields > 0)
    out_.result.notes.push_back(damaged_fields_text(result.record.damaged_fields));
  for (const NotInterposedRecord& row : result.record.not_interposed) {
    out_.result.notes.push_back("not looked at: " + row.service + (row.outgoing ? " -> " : " <- ") +
                                (row.target_service.empty() ? row.peer : row.target_service) +
                                ": " + reason_text(row));
  }
  out_.result.rpcs = result.record.rpcs.size();
  out_.result.reference_seconds = result.seconds;
  out_.result.findings = lint::lint_reference(result.record);
  out_.result.sites = lint::call_sites(result.record);
  discover(result.record, {});
  session_.sink({{"type", "reference"},
                 {"test", test_.name},
                 {"seconds", result.seconds},
                 {"rpcs", result.record.rpcs.size()}});
  silence_ = options_.silence.count() > 0 ? options_.silence
                                          : hang_limit_of(config_.bounds, result.seconds);
  lane_.hub().set_hang_limit(silence_);
  out_.result.silence_seconds = std::chrono::duration<double>(silence_).count();
  config_.bounds.quiesce_timeout = std::max(config_.bounds.quiesce_timeout, silence_ + kAfterProbe);
  return {};
}

// Adds call sites of services that were not known to `sites_`, each with its first request, and to
// result.sites, which has those of the reference execution already.
void Linter::discover(const ExecutionRecord& record, const Faults& faults) {
  std::unordered_set<std::string> retried;
  for (const RpcRecord& rpc : record.rpcs) {
    if (rpc.injected) retried.insert(std::to_string(rpc.parent_rpc) + lint::request_key(rpc));
  }
  for (const RpcRecord& rpc : record.rpcs) {
    if (is_test_call(rpc) || !lint::is_of_this_execution(rpc)) continue;
    // A retry is the same call, from whatever line it is made.
    if (retried.contains(std::to_string(rpc.parent_rpc) + lint::request_key(rpc))) continue;
    if (!known_sites_.insert(lint::site_key(rpc)).second) continue;
    Site site;
    site.rpc = rpc;
    site.prefix = faults;
    site.repeats = lint::attempts_of(record, rpc.index).size();
    auto& rows = out_.result.sites;
    const lint::Call call = lint::describe_call(rpc);
    const auto place = std::find_if(rows.begin(), rows.end(), [&](const lint::CallSite& row) {
      return row.first.index == call.index && row.first.caller == call.caller;
    });
    site.row = static_cast<size_t>(place - rows.begin());
    if (place == rows.end()) {
      lint::CallSite row;
      row.first = call;
      rows.push_back(std::move(row));
    }
    sites_.push_back(std::move(site));
  }
}

std::string Linter::obstacle(const RpcRecord& rpc) const {
  if (std::string text = lint::obstacle_to_probe(rpc); !text.empty()) return text;
  if (faults_for(config_, caller_of(rpc), rpc.service, rpc.method, path_of(rpc), rpc.protocol())
          .empty())
    return "the fault rules of the configuration leave it out";
  return "";
}

bool Linter::out_of_probes() const {
  return options_.max_probes != 0 && out_.result.executions >= options_.max_probes;
}

void Linter::not_probed(const Site& site, const char* what, const std::string& reason) {
  out_.result.not_probed.push_back({lint::describe_call(site.rpc), what, reason});
}

Result<void> Linter::run_probes() {
  // The list grows while it is walked.
  for (size_t i = 0; i < sites_.size() && !out_.stopped; ++i) {
    probed_sites_ = i;
    const std::string key = lint::site_key(sites_[i].rpc);
    const size_t row = sites_[i].row;
    if (const auto known = memory_->sites.find(key); known != memory_->sites.end()) {
      out_.result.sites[row].timeout = known->second.timeout;
      out_.result.sites[row].retries = known->second.retries;
      continue;
    }
    std::string reason = obstacle(sites_[i].rpc);
    if (reason.empty() && sites_[i].prefix.size() > kDeepest) {
      reason = "it is only reached under more than " + std::to_string(kDeepest) + " faults";
    }
    if (!reason.empty()) {
      not_probed(sites_[i], "timeout and retries", reason);
      continue;
    }
    if (auto probed = probe_retries(i); !probed) return probed;
    if (out_.stopped) return {};
    if (auto probed = probe_silence(i); !probed) return probed;
    const lint::CallSite& seen = out_.result.sites[row];
    if (!seen.timeout.empty()) memory_->sites[key] = {seen.timeout, seen.retries};
  }
  return {};
}

Result<Linter::Probe> Linter::attempt(const Faults& faults, milliseconds more_time) {
  std::vector<PlannedRpcFault> plan;
  for (const InjectedFault& fault : faults) {
    auto spec = parse_fault(fault.fault);
    if (!spec) return spec.error();
    plan.push_back(plan_fault(fault, spec.value()));
  }
  auto tried = run_->attempt(
      plan,
      [&](const Attempt& one) {
        ++out_.result.executions;
        if (!one.result.stopped) tell(one, faults);
      },
      more_time);
  if (!tried) return tried.error();
  out_.stopped = tried->result.stopped;
  Probe probe;
  if (is_inconclusive(tried->judgement.verdict)) probe.problem = tried->judgement.detail;
  probe.record = std::move(tried->result.record);
  return probe;
}

void Linter::tell(const Attempt& attempt, const Faults& faults) {
  std::vector<std::string> lines;
  for (const InjectedFault& fault : faults) lines.push_back(to_line(fault));
  const uint64_t open = sites_.size() - probed_sites_;
  const bool concluded = !is_inconclusive(attempt.judgement.verdict);
  session_.sink({{"type", "execution"},
                 {"test", test_.name},
                 {"number", attempt.result.record.execution},
                 {"executed", out_.result.executions},
                 {"scheduled", out_.result.executions + open},
                 {"open", open},
                 {"redundant", 0},
                 {"faults", lines},
                 {"passed", true},
                 {"verdict", concluded ? "probed" : "no conclusion"},
                 {"seconds", attempt.result.seconds}});
}

Result<void> Linter::probe_retries(size_t number) {
  if (sites_[number].repeats > 1) {
    not_probed(sites_[number], "retries",
               "the same request is sent " + std::to_string(sites_[number].repeats) +
                   " times without a fault too");
    return {};
  }
  for (const char* fault : failures_of(sites_[number].rpc.protocol())) {
    auto retried = probe_retries(number, fault);
    if (!retried) return retried.error();
    if (retried.value() || out_.stopped) break;
  }
  return {};
}

// Fails the request, then its first retry too, and so on, until enough retries were seen. Then it
// measures again, while the gaps do not yet show whether the retries wait.
Result<bool> Linter::probe_retries(size_t number, const char* fault) {
  const Site site = sites_[number];  // discover() moves the list
  Faults faults = site.prefix;
  faults.push_back(with_fault(site.rpc, fault));
  lint::RetryGaps gaps;
  size_t failed = 1;
  for (int measured = 0;;) {
    if (out_of_probes()) {
      not_probed(site, "retries", "the bound of probes was reached");
      return failed > 1;
    }
    auto tried = attempt(faults, milliseconds(0));
    if (!tried) return tried.error();
    if (out_.stopped) return false;
    if (!tried->problem.empty()) {
      not_probed(site, "retries", std::string(fault) + ": " + tried->problem);
      return failed > 1;
    }
    const ExecutionRecord& record = tried->record;
    discover(record, faults);
    const lint::Rpcs attempts = lint::attempts_of(record, site.rpc.index);
    const auto retries = static_cast<uint32_t>(attempts.empty() ? 0 : attempts.size() - 1);
    std::optional<uint32_t>& seen = out_.result.sites[site.row].retries;
    seen = std::max(seen.value_or(0), retries);
    gaps.add(attempts);
    const bool goes_on = failed <= lint::kLeastRetries && attempts.size() > failed;
    if (goes_on && lint::obstacle_to_probe(*attempts[failed]).empty()) {
      faults.push_back(with_fault(record, *attempts[failed], fault));
      ++failed;
      continue;
    }
    if (gaps.immediate()) {
      out_.result.findings.push_back(
          behind(site.prefix, lint::retry_without_backoff(attempts, gaps)));
    } else if (gaps.worth_measuring() && ++measured < lint::kMeasurements) {
      continue;
    }
    return retries > 0;
  }
}

Result<void> Linter::probe_silence(size_t number) {
  const Site site = sites_[number];
  if (out_of_probes()) {
    not_probed(site, "timeout", "the bound of probes was reached");
    return {};
  }
  Faults faults = site.prefix;
  faults.push_back(with_fault(site.rpc, kSilence));
  auto tried = attempt(faults, silence_);
  if (!tried) return tried.error();
  if (out_.stopped) return {};
  if (!tried->problem.empty()) {
    not_probed(site, "timeout", tried->problem);
    return {};
  }
  discover(tried->record, faults);
  std::string& timeout = out_.result.sites[site.row].timeout;
  switch (lint::judge_silence(tried->record, site.rpc.index)) {
    case lint::Silence::kGaveUp:
      timeout = "fires";
      break;
    case lint::Silence::kNotSeen:
      not_probed(site, "timeout", "the silence ended before its limit, and not by the caller");
      break;
    case lint::Silence::kWaitsOn: {
      timeout = "none";
      lint::Finding finding = behind(site.prefix, lint::no_timeout(site.rpc, silence_));
      if (!options_.without.contains(lint::Lint::kNoTimeout))
        finding.replay = write_replay(faults, finding.text);
      out_.result.findings.push_back(std::move(finding));
      break;
    }
  }
  return {};
}

std::string Linter::write_replay(const Faults& faults, const std::string& detail) {
  const std::string folder = lane_.place().root + "/lint";
  if (auto made = make_private_folder(folder); !made) {
    session_.warn(made.error().message);
    return "";
  }
  Counterexample out;
  out.test = test_.name;
  out.config_path = config_.path;
  out.config_text = session_.config_text;
  out.directory = config_.directory;
  out.index_parts = config_.index_parts;
  out.ports = lane_.place().automatic_ports;
  out.hang_limit_ms = static_cast<uint32_t>(silence_.count());
  out.faults = faults;
  out.verdict = std::string(verdict_name(Verdict::kNoTimeout));
  out.detail = detail;
  std::string path = folder + "/" + std::to_string(++memory_->files) + ".json";
  if (auto written = write_file(path, to_json(out)); !written) {
    session_.warn(written.error().message);
    return "";
  }
  return path;
}

}  // namespace filibuster
