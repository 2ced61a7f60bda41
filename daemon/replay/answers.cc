#include "daemon/replay/answers.h"

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
      matcher_(&set.rules, &set.process) {}

void CaseAnswers::start() {
  const std::lock_guard lock(mutex_);
  matcher_ = cases::Matcher(&set_.rules, &set_.process);
}

void CaseAnswers::begin(const cases::Case& of) {
  places_->begin();
  const std::lock_guard lock(mutex_);
  matcher_.begin(&of);
  runs_ = true;
  refused_.clear();
}

cases::Verdict CaseAnswers::end(const cases::Case& of, const cases::EntryEnd& end,
                                std::vector<std::string> doubts) {
  const std::lock_guard lock(mutex_);
  matcher_.end();
  runs_ = false;
  doubts.insert(doubts.end(), refused_.begin(), refused_.end());
  if (const uint64_t lost = places_->lost_events(); lost > 0)
    doubts.push_back(std::to_string(lost) + " events of the service were lost");
  return cases::judge(of, matcher_, end, set_.rules, doubts);
}

std::vector<std::string> CaseAnswers::process_misses() const {
  const std::lock_guard lock(mutex_);
  return matcher_.process_misses();
}

cases::CallInput CaseAnswers::arrived(size_t arrival) const {
  const std::lock_guard lock(mutex_);
  return matcher_.arrivals()[arrival].call.input;
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
    out.cause = runs_ ? cases::Cause::kUnseen : cases::Cause::kProcess;
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
  const cases::LiveCall live = live_call(call);
  const std::lock_guard lock(mutex_);
  const cases::Decision decision = matcher_.arrive(live);
  if (decision.answer == nullptr) {
    out.problem = decision.problem;
    return out;
  }
  out = reply_of(*decision.answer);
  matcher_.answered(decision.arrival);
  return out;
}

void CaseAnswers::refuse(const std::string&, const std::string& problem) {
  const std::lock_guard lock(mutex_);
  refused_.push_back(problem);
}

}  // namespace filibuster::replay
