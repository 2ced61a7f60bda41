#include "daemon/replay/answers.h"

#include <algorithm>
#include <utility>

#include "core/rpc/header_field.h"
#include "daemon/cases/grpc_body.h"
#include "daemon/cases/identity.h"
#include "daemon/cases/messages.h"
#include "daemon/cases/route.h"
#include "daemon/wire/resp_value.h"

namespace filibuster::replay {
namespace {

constexpr int kRespVersion = 2;  // clients that ask for 3 are refused, and speak 2
// A reply that is held back, by its replay and its arrival there.
uint64_t ticket_of(uint32_t execution, size_t arrival) {
  return uint64_t{execution} << 32 | arrival;
}
uint32_t execution_of(uint64_t ticket) {
  return static_cast<uint32_t>(ticket >> 32);
}
size_t arrival_of(uint64_t ticket) {
  return static_cast<uint32_t>(ticket);
}
// Of so many cases calls may still come.
constexpr size_t kMostRounds = 64;

// A word of a command, or a command of a transaction.
nlohmann::json word_of(const nlohmann::json& word) {
  if (word.is_string()) return wire::text_or_bytes(word.get_ref<const std::string&>());
  nlohmann::json out = nlohmann::json::array();
  for (const auto& each : word) out.push_back(word_of(each));
  return out;
}

cases::ProcessRecord masked(cases::ProcessRecord process, const record::Redactor::Rules& secrets) {
  record::Redactor mask = record::Redactor::masking(secrets);
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
  out.http = {call.method, call.path, cases::kept_of_request(call.headers), call.body, "", false};
  return out;
}

stubs::End end_of(cases::Ends ends, bool silence) {
  if (silence) return stubs::End::kSilence;
  return ends == cases::Ends::kReset ? stubs::End::kReset : stubs::End::kClosed;
}

// A recorded call that was answered while its request was open.
bool comes_in_turns(const cases::Call& recorded) {
  const auto& pieces = recorded.answer.pieces;
  return std::any_of(pieces.begin(), pieces.end(), [](const auto& piece) { return piece.after; });
}

// Of the request that has so many messages. nullopt: it has fewer.
std::optional<cases::CallInput> beginning_of(cases::CallInput input, size_t messages) {
  const auto all = cases::grpc_messages(input.http.body);
  if (!all || all->size() < messages) return std::nullopt;
  std::string body;
  for (size_t i = 0; i < messages; ++i) cases::put_grpc_message((*all)[i], &body);
  input.http.body = std::move(body);
  return input;
}

}  // namespace

stubs::Reply CaseAnswers::reply_of(const cases::Call& recorded) const {
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
  out.is_http = true;
  out.stream_error = answer.stream_error;
  if (answer.status == 0 || answer.silence || answer.ends != cases::Ends::kNone)
    out.end = end_of(answer.ends, answer.silence);
  out.answer.status = answer.status;
  out.answer.headers = answer.headers;
  out.answer.body = answer.body;
  out.trailers = answer.trailers;
  for (const cases::Piece& piece : answer.pieces) {
    const std::chrono::milliseconds gap(static_cast<int64_t>(piece.gap_ms));
    out.parts.push_back({piece.size, keeps_gaps_ ? gap : std::min(gap, kMostGap), piece.after});
  }
  return out;
}

CaseAnswers::CaseAnswers(const LoadedSet& set, Recordings* recordings,
                         std::shared_ptr<Places> places, bool keeps_gaps)
    : set_(set),
      recordings_(recordings),
      places_(std::move(places)),
      keeps_gaps_(keeps_gaps),
      secrets_(SecretRules::compile(set.set.redact)),
      process_(masked(set.process, secrets_)),
      matcher_(&set.rules, &process_),
      mask_(record::Redactor::masking(secrets_)) {}

void CaseAnswers::start() {
  const std::lock_guard lock(mutex_);
  matcher_ = cases::Matcher(&set_.rules, &process_);
}

void CaseAnswers::begin(const cases::Case& of, uint32_t execution) {
  places_->begin();
  const std::lock_guard lock(mutex_);
  if (rounds_.size() == kMostRounds) rounds_.pop_front();
  Round& round =
      rounds_.emplace_back(Round{execution, of, of, record::Redactor::masking(secrets_), matcher_});
  // In the order in which the secrets of what comes will be known.
  record::Redactor mask = record::Redactor::masking(secrets_);
  mask.redact(&round.masked.request);
  for (cases::Call& each : round.masked.calls) mask.redact(&each);
  mask.redact(&round.masked.answer);
  cases::Request request = of.request;
  round.mask.redact(&request);
  round.matcher.begin(&round.masked);
  round.waits = waits_of(round.masked);
  refused_.clear();
  runs_ = true;
}

void CaseAnswers::wait_for_calls(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  const cases::Matcher& matcher = rounds_.back().matcher;
  arrived_.wait_for(lock, limit, [&] {
    const auto& arrivals = matcher.arrivals();
    return matcher.pool().taken() == matcher.pool().size() ||
           std::any_of(arrivals.begin(), arrivals.end(),
                       [](const auto& each) { return !each.of_process && each.missed(); });
  });
}

cases::Verdict CaseAnswers::end(const cases::EntryEnd& end, std::vector<std::string> doubts,
                                std::string died) {
  const std::lock_guard lock(mutex_);
  Round& round = rounds_.back();
  round.matcher.end();
  round.is_over = true;
  round.has_changed = runs_ = false;
  doubts.insert(doubts.end(), refused_.begin(), refused_.end());
  if (const uint64_t lost = places_->lost_events(); lost > 0)
    doubts.push_back(std::to_string(lost) + " events of the service were lost");
  round.doubts = std::move(doubts);
  round.died = std::move(died);
  round.end = end;
  round.mask.redact(&round.end.answer);
  return judged(round);
}

cases::Verdict CaseAnswers::judged(const Round& round) const {
  cases::Verdict out =
      cases::judge(round.masked, round.matcher, round.end, set_.rules, round.doubts);
  if (round.died.empty()) return out;
  // It stayed alive in the recording. What differed before it died stays the finding.
  cases::Difference death;
  death.kind = cases::DifferenceKind::kAnswer;
  death.text = round.died;
  out.differences.push_back(std::move(death));
  out.judged = cases::Judged::kDiffers;
  out.why.clear();
  return out;
}

Rejudged CaseAnswers::rejudged() {
  const std::lock_guard lock(mutex_);
  Rejudged out;
  for (Round& round : rounds_) {
    if (!round.is_over || !std::exchange(round.has_changed, false)) continue;
    out.emplace(round.execution, judged(round));
  }
  return out;
}

std::vector<std::string> CaseAnswers::process_misses() const {
  const std::lock_guard lock(mutex_);
  return matcher_.process_misses();
}

std::vector<Hash128> CaseAnswers::missed() const {
  const std::lock_guard lock(mutex_);
  std::vector<Hash128> out;
  for (const auto& each : rounds_.back().matcher.arrivals()) {
    if (each.missed() && !each.of_process) out.push_back(each.keys.input);
  }
  return out;
}

cases::CallInput CaseAnswers::arrived(size_t arrival) const {
  const std::lock_guard lock(mutex_);
  return rounds_.back().arrivals[arrival];
}

CaseAnswers::CallOfRound CaseAnswers::live_call(const stubs::Call& call) {
  CallOfRound out;
  out.live.input = input_of(call);
  // What agents write before a request leaves, and so before it is here.
  recordings_->look();
  RpcContext context;
  const bool has_field = decode_header_value(call.field, &context);
  // Stubs count from 0.
  auto found =
      has_field ? places_->of(context.rpc) : places_->at(call.client_port, call.number + 1);
  if (!found) {
    // Between executions agents say nothing: what comes then is of the process.
    const std::lock_guard lock(mutex_);
    out.live.cause = runs_ ? cases::Cause::kUnseen : cases::Cause::kProcess;
    return out;
  }
  out.live.cause = found->cause;
  out.execution = found->execution;
  symbolizer_.lines(&found->stack);
  out.live.site = cases::site_of(found->stack);
  return out;
}

// nullptr: it is of the process. So is what belongs to a case that is long over, and what is not recorded of a process proves nothing.
CaseAnswers::Round* CaseAnswers::round_of(const CallOfRound& call) {
  Round* running = runs_ ? &rounds_.back() : nullptr;
  if (call.live.cause != cases::Cause::kCase) return running;
  const auto found = std::find_if(rounds_.begin(), rounds_.end(), [&](const Round& each) {
    return each.execution == call.execution;
  });
  return found == rounds_.end() ? nullptr : &*found;
}

stubs::Reply CaseAnswers::reply(stubs::Call call) {
  CallOfRound of = live_call(call);
  const std::lock_guard lock(mutex_);
  Round* round = round_of(of);
  stubs::Reply out =
      round != nullptr ? reply_in(round, std::move(of.live)) : reply_of_process(std::move(of.live));
  arrived_.notify_all();
  return out;
}

stubs::Reply CaseAnswers::reply_in(Round* round, cases::LiveCall live) {
  stubs::Reply out;
  cases::Call masked;
  masked.input = live.input;
  round->mask.redact(&masked);
  round->arrivals.push_back(std::exchange(live.input, masked.input));
  round->has_changed = true;
  const cases::Decision decision = round->matcher.arrive(live);
  if (decision.answer == nullptr) {
    out.problem = decision.problem;
    return out;
  }
  const std::vector<cases::Call>& recorded =
      decision.of_process ? set_.process.calls : round->recorded.calls;
  out = reply_of(recorded[decision.place]);
  // What it says is known to be a secret from now on.
  cases::Call served = recorded[decision.place];
  round->mask.redact(&served);
  if (!decision.of_process && out.end == stubs::End::kNone &&
      is_to_be_held(*round, decision.place)) {
    out.answer.delay = kHold;
    out.ticket = ticket_of(round->execution, decision.arrival);
  } else {
    round->matcher.answered(decision.arrival);
  }
  return out;
}

std::vector<std::vector<CaseAnswers::Wait>> CaseAnswers::waits_of(const cases::Case& of) const {
  const Hash128 route = hash_text(cases::route_of(of.request.method, of.request.target));
  std::vector<Hash128> places;
  for (const cases::Call& call : of.calls) {
    const Hash128 point =
        cases::keys_of(call.input, cases::input_fields(call.input, set_.rules)).point;
    places.push_back(combine(point, hash_text(call.site)));
  }
  std::vector<std::vector<Wait>> out(of.calls.size());
  for (size_t i = 0; i < of.calls.size(); ++i) {
    for (const size_t before : of.calls[i].after)
      out[before].push_back({i, combine(combine(route, places[before]), places[i])});
  }
  return out;
}

bool CaseAnswers::is_to_be_held(const Round& round, size_t place) {
  bool out = false;
  for (const Wait& each : round.waits[place]) {
    if (!round.matcher.pool().is_taken(each.call)) out = held_.insert(each.places).second || out;
  }
  return out;
}

void CaseAnswers::hold_again() {
  const std::lock_guard lock(mutex_);
  held_.clear();
}

void CaseAnswers::leaves(uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  for (Round& round : rounds_) {
    if (round.execution == execution_of(ticket)) round.matcher.answered(arrival_of(ticket));
  }
}

stubs::Reply CaseAnswers::reply_of_process(cases::LiveCall live) {
  stubs::Reply out;
  cases::Call masked;
  masked.input = live.input;
  mask_.redact(&masked);
  live.input = masked.input;
  live.cause = cases::Cause::kProcess;
  const cases::Decision decision = matcher_.arrive(live);
  if (decision.answer == nullptr) {
    out.problem = decision.problem;
    return out;
  }
  out = reply_of(set_.process.calls[decision.place]);
  cases::Call served = set_.process.calls[decision.place];
  mask_.redact(&served);
  return out;
}

// The recorded call that begins with what has come, and has its answer in turns with it.
std::optional<stubs::Reply> CaseAnswers::reply_in_turns(const Round& round,
                                                        const cases::CallInput& input,
                                                        const std::string& site) const {
  const auto messages = cases::grpc_messages(input.http.body);
  const cases::CallPool& pool = round.matcher.pool();
  const cases::Fields fields = cases::input_fields(input, set_.rules);
  std::optional<size_t> found;
  bool any_of_its_kind = false;
  for (size_t i = 0; messages && i < pool.size(); ++i) {
    const cases::Call& recorded = pool.call(i);
    if (pool.is_taken(i) || recorded.input.to != input.to ||
        recorded.input.http.target != input.http.target)
      continue;
    any_of_its_kind = any_of_its_kind || comes_in_turns(recorded);
    const auto beginning = beginning_of(recorded.input, messages->size());
    if (!beginning ||
        !cases::differences(cases::input_fields(*beginning, set_.rules), fields).empty())
      continue;
    if (!found || (recorded.site == site && pool.call(*found).site != site)) found = i;
  }
  if (found && comes_in_turns(pool.call(*found))) return reply_of(round.recorded.calls[*found]);
  if (found || !any_of_its_kind) return std::nullopt;
  stubs::Reply none;
  none.problem = "no recorded call begins like this one";
  return none;
}

std::optional<stubs::Reply> CaseAnswers::reply_open(const stubs::Call& call) {
  {
    const std::lock_guard lock(mutex_);
    const bool any_in_turns = std::any_of(rounds_.begin(), rounds_.end(), [](const Round& each) {
      const std::vector<cases::Call>& calls = each.recorded.calls;
      return std::any_of(calls.begin(), calls.end(), comes_in_turns);
    });
    if (!any_in_turns) return std::nullopt;
  }
  CallOfRound of = live_call(call);
  std::optional<stubs::Reply> out;
  {
    const std::lock_guard lock(mutex_);
    Round* round = round_of(of);
    if (round == nullptr || of.live.cause == cases::Cause::kProcess) return std::nullopt;
    cases::Call masked;
    masked.input = of.live.input;
    round->mask.redact(&masked);
    out = reply_in_turns(*round, masked.input, of.live.site);
  }
  // Nothing would ever answer it, and its client may wait for that before it says more.
  if (out && !out->problem.empty()) return reply(call);
  return out;
}

void CaseAnswers::refuse(const std::string&, const std::string& problem) {
  const std::lock_guard lock(mutex_);
  refused_.push_back(problem);
}

}  // namespace filibuster::replay
