#include "daemon/replay/answers.h"

#include <algorithm>
#include <utility>

#include "core/rpc/header_field.h"
#include "daemon/cases/messages.h"
#include "daemon/wire/resp_value.h"

namespace filibuster::replay {
namespace {

constexpr int kRespVersion = 2;  // clients that ask for 3 are refused, and speak 2

// A word of a command, or a command of a transaction.
nlohmann::json word_of(const nlohmann::json& word) {
  if (word.is_string()) return wire::text_or_bytes(word.get_ref<const std::string&>());
  nlohmann::json out = nlohmann::json::array();
  for (const auto& each : word) out.push_back(word_of(each));
  return out;
}

cases::ProcessRecord masked(cases::ProcessRecord process) {
  record::Redactor mask = record::Redactor::masking();
  for (cases::Call& each : process.calls) mask.redact(&each);
  return process;
}

cases::CallInput input_of(const stubs::Call& call) {
  cases::CallInput out;
  out.to = call.service;
  if (call.kind == stubs::Kind::kRedis) {
    out.kind = cases::Kind::kRedis;
    out.command = nlohmann::json::array({call.method});
    for (const auto& word : call.arguments) out.command.push_back(word_of(word));
    return out;
  }
  out.http = {call.method, call.path, cases::kept_of_request(call.headers), call.body, ""};
  return out;
}

stubs::End end_of(cases::Ends ends, bool silence) {
  if (silence) return stubs::End::kSilence;
  return ends == cases::Ends::kReset ? stubs::End::kReset : stubs::End::kClosed;
}

stubs::Reply reply_of(const cases::Call& recorded) {
  stubs::Reply out;
  const cases::Answer& answer = recorded.answer;
  if (recorded.input.kind == cases::Kind::kRedis) {
    if (recorded.reply) {
      out.resp = wire::resp_reply_bytes(*recorded.reply, kRespVersion);
    } else {
      out.end = end_of(answer.ends, answer.silence);
    }
    return out;
  }
  if (answer.status == 0) {
    out.end = end_of(answer.ends, answer.silence);
    return out;
  }
  out.answer.status = answer.status;
  out.answer.headers = answer.headers;
  out.answer.body = answer.body;
  return out;
}

}  // namespace

CaseAnswers::CaseAnswers(const LoadedSet& set, Recordings* recordings,
                         std::shared_ptr<Places> places)
    : set_(set),
      recordings_(recordings),
      places_(std::move(places)),
      process_(masked(set.process)),
      matcher_(&set.rules, &process_),
      mask_(record::Redactor::masking()) {}

void CaseAnswers::start() {
  const std::lock_guard lock(mutex_);
  matcher_ = cases::Matcher(&set_.rules, &process_);
}

void CaseAnswers::begin(const cases::Case& of) {
  places_->begin();
  const std::lock_guard lock(mutex_);
  // In the order in which the secrets of what comes will be known.
  record::Redactor mask = record::Redactor::masking();
  running_ = &of;
  masked_ = of;
  mask.redact(&masked_.request);
  for (cases::Call& each : masked_.calls) mask.redact(&each);
  mask.redact(&masked_.answer);
  mask_ = record::Redactor::masking();
  cases::Request request = of.request;
  mask_.redact(&request);
  matcher_.begin(&masked_);
  arrivals_.clear();
  refused_.clear();
}

void CaseAnswers::wait_for_calls(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  arrived_.wait_for(lock, limit, [&] {
    const auto& arrivals = matcher_.arrivals();
    return matcher_.pool().taken() == matcher_.pool().size() ||
           std::any_of(arrivals.begin(), arrivals.end(),
                       [](const auto& each) { return !each.of_process && each.missed(); });
  });
}

cases::Verdict CaseAnswers::end(const cases::Case&, const cases::EntryEnd& end,
                                std::vector<std::string> doubts) {
  const std::lock_guard lock(mutex_);
  matcher_.end();
  running_ = nullptr;
  doubts.insert(doubts.end(), refused_.begin(), refused_.end());
  if (const uint64_t lost = places_->lost_events(); lost > 0)
    doubts.push_back(std::to_string(lost) + " events of the service were lost");
  cases::EntryEnd masked = end;
  mask_.redact(&masked.answer);
  return cases::judge(masked_, matcher_, masked, set_.rules, doubts);
}

std::vector<std::string> CaseAnswers::process_misses() const {
  const std::lock_guard lock(mutex_);
  return matcher_.process_misses();
}

std::vector<Hash128> CaseAnswers::missed() const {
  const std::lock_guard lock(mutex_);
  std::vector<Hash128> out;
  for (const auto& each : matcher_.arrivals()) {
    if (each.missed() && !each.of_process) out.push_back(each.keys.input);
  }
  return out;
}

cases::CallInput CaseAnswers::arrived(size_t arrival) const {
  const std::lock_guard lock(mutex_);
  return arrivals_[arrival];
}

cases::LiveCall CaseAnswers::live_call(const stubs::Call& call) {
  cases::LiveCall out;
  out.input = input_of(call);
  // What agents write before a request leaves, and so before it is here.
  recordings_->look();
  RpcContext context;
  const bool has_field = decode_header_value(call.field, &context);
  // Stubs count from 0. Of HTTP/2 it is the stream.
  const bool is_counted = call.kind != stubs::Kind::kGrpc;
  auto found = has_field ? places_->of(context.rpc)
                         : places_->at(call.client_port, call.number + (is_counted ? 1 : 0));
  if (!found) {
    // Between executions agents say nothing: what comes then is of the process.
    const std::lock_guard lock(mutex_);
    out.cause = running_ != nullptr ? cases::Cause::kUnseen : cases::Cause::kProcess;
    return out;
  }
  out.cause = found->cause;
  symbolizer_.lines(&found->stack);
  out.site = cases::site_of(found->stack);
  return out;
}

stubs::Reply CaseAnswers::reply(stubs::Call call) {
  stubs::Reply out;
  if (call.kind == stubs::Kind::kGrpc) {
    out.problem = "calls of gRPC are not replayed";
    const std::lock_guard lock(mutex_);
    refused_.push_back("the service called " + to_text(call) + " of '" + call.service + "', and " +
                       out.problem);
    return out;
  }
  cases::LiveCall live = live_call(call);
  const std::lock_guard lock(mutex_);
  cases::Call masked;
  masked.input = live.input;
  mask_.redact(&masked);
  arrivals_.push_back(std::exchange(live.input, masked.input));
  const cases::Decision decision = matcher_.arrive(live);
  if (decision.answer != nullptr) {
    const std::vector<cases::Call>& recorded =
        decision.of_process ? set_.process.calls : running_->calls;
    out = reply_of(recorded[decision.place]);
    // What it says is known to be a secret from now on.
    cases::Call served = recorded[decision.place];
    mask_.redact(&served);
    matcher_.answered(decision.arrival);
  } else {
    out.problem = decision.problem;
  }
  arrived_.notify_all();
  return out;
}

void CaseAnswers::refuse(const std::string&, const std::string& problem) {
  const std::lock_guard lock(mutex_);
  refused_.push_back(problem);
}

}  // namespace filibuster::replay
