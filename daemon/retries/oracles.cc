#include "daemon/retries/oracles.h"

#include <algorithm>
#include <charconv>

#include "core/fault/reason_phrases.h"
#include "daemon/model/call_name.h"
#include "daemon/retries/effects.h"

namespace filibuster::retries {
namespace {

constexpr std::string_view kOracleNames[] = {"none",
                                             "consistent-exception",
                                             "inconsistent-exception",
                                             "exception",
                                             "exception-in-test",
                                             "assertion",
                                             "process-died",
                                             "hang",
                                             "possible-silent-violation",
                                             "unreadable"};

constexpr char kUncaught[] =
    "nobody handles an exception, which ends a process outside of the test runner: ";

// Before and after its effect a fault looks the same to its caller.
std::string_view as_seen(std::string_view fault) {
  return fault.ends_with(":after") ? fault.substr(0, fault.size() - 6) : fault;
}

// Does the text have `number` as a number of its own?
bool has_number(std::string_view text, std::string_view number) {
  const auto digit = [&](size_t at) {
    return at < text.size() && text[at] >= '0' && text[at] <= '9';
  };
  for (size_t at = text.find(number); at != text.npos; at = text.find(number, at + 1)) {
    if (!(at > 0 && digit(at - 1)) && !digit(at + number.size())) return true;
  }
  return false;
}

// What is raised of a value that cannot be read, or is not as it should be. Its message has the value.
bool is_of_a_value(std::string_view type) {
  constexpr std::string_view kTypes[] = {
      "ValueError",  "TypeError",           "KeyError",        "IndexError",
      "SyntaxError", "JSONDecodeError",     "RangeError",      "NumberFormatException",
      "ParseError",  "JsonSyntaxException", "invalid_argument"};
  const std::string_view name = suite::short_type(type);
  return std::find(std::begin(kTypes), std::end(kTypes), name) != std::end(kTypes);
}

// The message without what it quotes of the injected answers: that says nothing of what the exception is about.
std::string without_quotes(const suite::Raised& raised, const std::vector<std::string>& bodies) {
  constexpr size_t kLeast = 16;  // bytes; what is shorter may be there by chance
  std::string out = raised.message;
  if (!is_of_a_value(raised.type)) return out;
  for (const std::string& body : bodies) {
    if (body.size() < kLeast) continue;
    const size_t at = out.find(body.substr(0, kLeast));
    if (at == out.npos) continue;
    size_t size = kLeast;
    while (size < body.size() && at + size < out.size() && out[at + size] == body[size]) ++size;
    out.erase(at, size);
  }
  return out;
}

// "ServiceUnavailable" of "ServiceUnavailableException", "Service Unavailable" and "ServiceUnavailableError".
std::string bare_name(std::string_view name) {
  for (const std::string_view ending : {"Exception", "Error"}) {
    if (name.size() > ending.size() && name.ends_with(ending)) name.remove_suffix(ending.size());
  }
  std::string out(name);
  std::erase(out, ' ');
  return out;
}

// By what the exception's type or message names an injected status or error code; "": by nothing.
std::string named_fault(const suite::Raised& raised, const FaultedTest& test) {
  const std::string said = without_quotes(raised, test.error_bodies);
  const std::string type = bare_name(suite::short_type(raised.type));
  for (const std::string& outcome : test.outcomes) {
    const std::string_view seen = as_seen(outcome);
    if (seen.starts_with("status:")) {
      const std::string_view status = seen.substr(7);
      uint16_t number = 0;
      std::from_chars(status.data(), status.data() + status.size(), number);
      const std::string_view reason = reason_phrase(number);
      if (has_number(said, status) || (!reason.empty() && bare_name(reason) == type))
        return raised.type + " names the injected status " + std::string(status);
    }
    if (seen.starts_with("grpc:") && raised.message.find(seen.substr(5)) != std::string::npos)
      return raised.type + " names the injected status " + std::string(seen.substr(5));
  }
  for (const std::string& code : test.error_codes) {
    if (!code.empty() && (said.find(code) != std::string::npos || bare_name(code) == type))
      return raised.type + " names the injected error " + code;
  }
  return "";
}

// Why the exception is consistent with an injected outcome; "": it is not.
std::string why_consistent(const suite::Raised& raised, const FaultedTest& test,
                           const SurfacesAs& surfaces, const OracleOptions& options) {
  for (const std::string& outcome : test.outcomes) {
    if (surfaces.has(outcome, raised.type) && came_from(raised, test.call_site, options))
      return raised.type + " is what " + outcome + " surfaces as";
  }
  return named_fault(raised, test);
}

std::string call_text(const RpcRecord& rpc) {
  return rpc.caller + " -> " + rpc.service + " " + name_of_call(rpc);
}

std::string said_by(const suite::Failure& failure) {
  if (failure.chain.empty()) return failure.text.substr(0, failure.text.find('\n'));
  const suite::Raised& raised = failure.chain.front();
  return raised.message.empty() ? raised.type : raised.type + ": " + raised.message;
}

// The runner's own limit for a test was over (mocha, jest, node, pytest-timeout, JUnit): this is neither the application's exception
// nor the fault's.
bool is_runners_limit(const suite::Raised& raised) {
  const std::string_view said = raised.message;
  return (said.starts_with("Timeout of ") && said.find("ms exceeded") != said.npos) ||
         said.starts_with("Exceeded timeout of ") || said.starts_with("test timed out after ") ||
         said.starts_with("Timeout >") || said.find("() timed out after ") != said.npos;
}

// A test that expects the server's own error says by an assertion that it got the injected one. "": it does not.
std::string names_other_error(const FaultedTest& test, const SurfacesAs& surfaces,
                              const OracleOptions& options) {
  if (!test.own_error || !test.failure.assertion || options.any_exception_is_a_bug) return "";
  for (const suite::Raised& raised : test.failure.chain) {
    std::string why = why_consistent(raised, test, surfaces, options);
    for (const std::string& outcome : test.outcomes) {
      for (const std::string& type : surfaces.of(outcome)) {
        if (why.empty() && raised.message.find(type) != std::string::npos)
          why = raised.type + " names " + type + ", which is what " + outcome + " surfaces as";
      }
    }
    if (!why.empty()) return "the test expects the error of the server itself, and " + why;
  }
  return "";
}

// "the assertion fails at test_shop.py:12 (test_pay): assert 2 == 1"
std::string assertion_text(const suite::Failure& failure, const OracleOptions& options) {
  if (failure.chain.empty()) return "an assertion of the test does not hold";
  const suite::Raised& raised = failure.chain.front();
  const std::string* frame = own_frame(raised, options);
  return "the assertion fails" + (frame == nullptr ? "" : " at " + *frame) +
         (raised.message.empty() ? "" : ": " + raised.message);
}

void judge_failure(const FaultedTest& test, const ExecutionRecord& record, const RetryGroup* group,
                   const SurfacesAs& surfaces, const OracleOptions& options, Verdict* out) {
  const RpcRecord* refusal = group == nullptr ? nullptr : own_refusal(record, *group);
  const RpcRecord* later = group == nullptr ? nullptr : later_refusal(record, *group);
  if (const std::string why = names_other_error(test, surfaces, options); !why.empty()) {
    out->oracle = Oracle::kConsistentException;
    out->evidence = why;
    return;
  }
  if (test.failure.assertion) {
    out->oracle = Oracle::kAssertion;
    out->evidence = assertion_text(test.failure, options);
    return;
  }
  if (test.failure.chain.empty()) {
    out->oracle = Oracle::kUnreadable;
    out->evidence = "the runner did not say by which exception the test fails";
    const std::string said = test.failure.text.substr(0, test.failure.text.find('\n'));
    if (!said.empty()) out->evidence += ": " + said;
    return;
  }
  const suite::Raised& last = test.failure.chain.front();
  if (is_runners_limit(last)) {
    out->oracle = Oracle::kUnreadable;
    out->evidence = "the runner's own limit for a test was over: " + last.message;
    if (out->repeated.empty()) return;
    out->oracle = Oracle::kPossibleSilentViolation;
    out->evidence += "; until then " + repetition_text(record, out->repeated.front());
    return;
  }
  const RpcRecord* about = raised_by(last, record, options);
  if (refusal != nullptr && came_from(last, test.call_site, options)) {
    out->oracle = Oracle::kInconsistentException;
    out->evidence = last.type +
                    " is about the server's own answer to a retry: " + call_text(*refusal) +
                    " was answered " + ending_name(*refusal);
    return;
  }
  // Without frames, an exception is about the error that it names, else about the newest that the application was told of.
  if (later != nullptr && has_own_frames(last, options))
    later = is_later(about, record, group) ? about : nullptr;
  else if (!named_fault(last, test).empty())
    later = nullptr;
  if (later != nullptr) {
    out->oracle = Oracle::kInconsistentException;
    out->evidence = last.type + " is about a later call: " + call_text(*later) + " was answered " +
                    ending_name(*later);
    return;
  }
  // What stands for another exception is consistent if that one is. What came while another one was handled is not.
  for (const suite::Raised& raised : test.failure.chain) {
    if (&raised != &last && raised.link != suite::Link::kCause) break;
    const std::string why = why_consistent(raised, test, surfaces, options);
    if (why.empty()) continue;
    out->oracle =
        options.any_exception_is_a_bug ? Oracle::kAnyException : Oracle::kConsistentException;
    out->evidence = why;
    return;
  }
  const std::string* own = own_frame(last, options);
  if (own != nullptr && is_test_frame(*own, options)) {
    out->oracle = Oracle::kTestCode;
    out->evidence = last.type + " was raised in the test's own code, at " + *own;
    if (out->repeated.empty()) return;
    // What the test has made of it may be its own mistake, and what the server did twice is not.
    out->oracle = Oracle::kPossibleSilentViolation;
    out->evidence += "; before that " + repetition_text(record, out->repeated.front());
    return;
  }
  out->oracle = Oracle::kInconsistentException;
  std::string injected;
  for (const std::string& outcome : test.outcomes)
    injected += (injected.empty() ? "" : ", ") + outcome;
  out->evidence = last.type + (own == nullptr ? "" : ", raised at " + *own + ",") +
                  " is not what the injected fault (" + injected + ") surfaces as";
}

}  // namespace

std::string_view oracle_name(Oracle oracle) {
  return kOracleNames[static_cast<size_t>(oracle)];
}

bool is_bug(Oracle oracle) {
  switch (oracle) {
    case Oracle::kNone:
    case Oracle::kConsistentException:
    case Oracle::kTestCode:
    case Oracle::kUnreadable:
      return false;
    case Oracle::kInconsistentException:
    case Oracle::kAnyException:
    case Oracle::kAssertion:
    case Oracle::kProcessDied:
    case Oracle::kHang:
    case Oracle::kPossibleSilentViolation:
      return true;
  }
  return false;
}

bool is_later(const RpcRecord* rpc, const ExecutionRecord& record, const RetryGroup* group) {
  if (rpc == nullptr || group == nullptr) return false;
  const RpcRecord& last = record.rpcs[group->rpcs.back()];
  return !rpc->injected && rpc->issued_ns > last.issued_ns;
}

void SurfacesAs::give(std::string_view fault, std::string_view type) {
  types_[std::string(as_seen(fault))].insert(std::string(suite::short_type(type)));
}

void SurfacesAs::learn(std::string_view fault, const suite::Failure& failure,
                       std::string_view call_site, const OracleOptions& options,
                       const std::function<bool(const suite::Raised&)>& is_of_another_call) {
  for (const suite::Raised& raised : failure.chain) {
    if (is_of_another_call && is_of_another_call(raised)) continue;
    if (suite::is_assertion_type(raised.type) || is_runners_limit(raised) ||
        !came_from(raised, call_site, options))
      continue;
    if (!raised.frames.empty() && is_client_frame(raised.frames.front(), options))
      give(fault, raised.type);
  }
}

bool SurfacesAs::has(std::string_view fault, std::string_view type) const {
  const auto row = types_.find(as_seen(fault));
  return row != types_.end() && row->second.contains(std::string(suite::short_type(type)));
}

std::set<std::string> SurfacesAs::of(std::string_view fault) const {
  const auto row = types_.find(as_seen(fault));
  return row == types_.end() ? std::set<std::string>() : row->second;
}

const RpcRecord* own_refusal(const ExecutionRecord& record, const RetryGroup& group) {
  if (group.rpcs.size() < 2) return nullptr;
  const RpcRecord& last = record.rpcs[group.rpcs.back()];
  return !last.injected && last.answered_with_error() ? &last : nullptr;
}

const RpcRecord* later_refusal(const ExecutionRecord& record, const RetryGroup& group) {
  const RpcRecord& last = record.rpcs[group.rpcs.back()];
  const RpcRecord* out = nullptr;
  for (const RpcRecord& rpc : record.rpcs) {
    if (rpc.issued_ns > last.issued_ns && !rpc.injected && rpc.answered_with_error()) out = &rpc;
  }
  return out;
}

std::string repetition_text(const ExecutionRecord& record, const Repeated& repeated) {
  std::string attempts;
  for (const size_t at : repeated.succeeded) {
    const RpcRecord& rpc = record.rpcs[at];
    attempts +=
        (attempts.empty() ? "" : " and ") + std::string("attempt ") +
        (rpc.attempt != 0 ? std::to_string(rpc.attempt) : std::to_string(attempts.empty() ? 1 : 2));
  }
  return call_text(record.rpcs[repeated.succeeded.front()]) + " succeeded at the server by " +
         attempts + " of one call";
}

std::vector<size_t> sent_again(const ExecutionRecord& record, const std::vector<RetryGroup>& groups,
                               const std::vector<MutationRule>& rules) {
  std::vector<size_t> out;
  for (const RetryGroup& group : groups) {
    // Of an attempt that was refused nobody has seen the header fields: another one may have a key.
    const bool seen = std::any_of(group.rpcs.begin(), group.rpcs.end(), [&](size_t at) {
      return record.rpcs[at].outcome != RpcOutcome::kRefused;
    });
    const bool unsafe = std::all_of(group.rpcs.begin(), group.rpcs.end(), [&](size_t at) {
      return is_unsafe_mutation(record.rpcs[at], rules);
    });
    if (seen && unsafe) out.insert(out.end(), group.rpcs.begin(), group.rpcs.end() - 1);
  }
  return out;
}

std::vector<Repeated> repeated_mutations(const ExecutionRecord& record,
                                         const std::vector<RetryGroup>& groups,
                                         const std::vector<MutationRule>& rules) {
  std::vector<Repeated> out;
  for (size_t g = 0; g < groups.size(); ++g) {
    Repeated one{g, {}};
    for (const size_t at : groups[g].rpcs) {
      const RpcRecord& rpc = record.rpcs[at];
      if (is_unsafe_mutation(rpc, rules) && succeeded_at_server(rpc)) one.succeeded.push_back(at);
    }
    if (one.succeeded.size() >= 2) out.push_back(std::move(one));
  }
  return out;
}

namespace {

Hash128 act_key(const RpcRecord& rpc) {
  Hash128 key = rpc.payload;
  for (const std::string_view text : {std::string_view(rpc.caller), std::string_view(rpc.service),
                                      std::string_view(rpc.method), std::string_view(rpc.target)})
    key = combine(key, hash_text(text));
  return key;
}

}  // namespace

ActCounts count_acts(const ExecutionRecord& record, const std::vector<MutationRule>& rules) {
  ActCounts out;
  for (const RpcRecord& rpc : record.rpcs) {
    if (is_unsafe_mutation(rpc, rules) && succeeded_at_server(rpc)) ++out[act_key(rpc)];
  }
  return out;
}

void leave_out_usual(const ExecutionRecord& record, const std::vector<RetryGroup>& groups,
                     const std::vector<MutationRule>& rules, const ActCounts& usual,
                     std::vector<Repeated>* repeated) {
  if (repeated->empty()) return;
  const ActCounts acts = count_acts(record, rules);
  std::erase_if(*repeated, [&](const Repeated& one) {
    const Hash128 key = act_key(record.rpcs[groups[one.group].rpcs.front()]);
    const auto now = acts.find(key), before = usual.find(key);
    return now != acts.end() && before != usual.end() && now->second <= before->second;
  });
}

void leave_out_others(const ExecutionRecord& record, std::optional<size_t> group,
                      std::vector<Repeated>* repeated) {
  std::erase_if(*repeated, [&](const Repeated& one) {
    const std::string& target = record.rpcs[one.succeeded.front()].target;
    return one.group == group && std::ranges::any_of(one.succeeded, [&](size_t at) {
             return record.rpcs[at].target != target;
           });
  });
}

Verdict judge(const FaultedTest& test, const ExecutionRecord& record,
              const std::vector<RetryGroup>& groups, const SurfacesAs& surfaces,
              const OracleOptions& options) {
  Verdict out;
  out.repeated = repeated_mutations(record, groups, options.mutations);
  switch (test.ending) {
    case Ending::kPassed:
      if (test.usual_acts) leave_out_others(record, test.group, &out.repeated);
      if (out.repeated.empty()) break;
      out.oracle = Oracle::kPossibleSilentViolation;
      out.evidence = "the test passes, although " + repetition_text(record, out.repeated.front());
      break;
    case Ending::kDied:
      out.oracle = Oracle::kProcessDied;
      out.evidence = test.no_result  ? "the runner ended without a result, although it says success"
                     : test.uncaught ? kUncaught + said_by(test.failure)
                                     : "a process of the application died";
      if (test.no_result && test.uncaught)
        out.evidence += "; before that nobody had handled " + said_by(test.failure);
      break;
    case Ending::kHung:
      out.oracle = Oracle::kHang;
      out.evidence = test.hang;
      break;
    case Ending::kFailed: {
      const RetryGroup* group =
          test.group && *test.group < groups.size() ? &groups[*test.group] : nullptr;
      judge_failure(test, record, group, surfaces, options, &out);
      if (test.uncaught &&
          (out.oracle == Oracle::kInconsistentException || out.oracle == Oracle::kAnyException)) {
        out.oracle = Oracle::kProcessDied;
        out.evidence = kUncaught + out.evidence;
      }
    } break;
  }
  if (!is_bug(out.oracle) && !test.endless.empty()) {
    out.oracle = Oracle::kHang;
    out.evidence = test.endless + (out.evidence.empty() ? "" : "; then " + out.evidence);
  }
  return out;
}

}  // namespace filibuster::retries
