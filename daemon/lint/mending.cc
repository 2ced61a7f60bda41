#include "daemon/lint/mending.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/fault/attempts.h"
#include "daemon/lint/lint.h"
#include "daemon/model/call_name.h"
#include "daemon/report/call_site_text.h"
#include "daemon/report/call_stacks.h"
#include "daemon/report/finding_text.h"
#include "daemon/report/source_place.h"

namespace filibuster::lint {
namespace {

// So many more calls of one site than without faults are a retry without a bound.
constexpr size_t kManyMore = 20;
constexpr uint16_t kInternalError = 500;

// What is known of one failing execution.
struct Facts {
  const Execution& failure;
  const std::vector<RpcRecord>& rpcs;
  const std::vector<RpcRecord>& reference;
  const std::vector<LoggedException>& logged;
  const InjectedFault& fault;          // without the last one the execution passes
  FaultSpec spec;                      // of the fault; of a sequence, its first outcome
  const RpcRecord* faulted = nullptr;  // the last RPC that it hit; null: it is not known
  const RpcRecord* above = nullptr;    // the RPC that caused it; null: none, or not known
  const RpcRecord* before = nullptr;   // `above` in the reference execution
};

// "gateway.py:33 (books)"; the call itself where its site is not known.
std::string site_of(const Facts& facts) {
  const InjectedFault& fault = facts.fault;
  CallStacks stacks;
  for (const auto* rpcs : {&facts.reference, &facts.rpcs}) {
    for (const RpcRecord& rpc : *rpcs) stacks.add(rpc.stack_text);
  }
  const size_t at = stacks.telling(fault.stack);
  const Place place = parse_place(at == 0 ? fault.call_site : fault.stack[at]);
  if (place.line == 0) return "the call " + call_text(fault, " ");
  const std::string file = std::filesystem::path(place.file).filename().string();
  const std::string text =
      call_site_text(file + ":" + std::to_string(place.line) +
                     (place.function.empty() ? "" : " (" + place.function + ")"));
  return "`" + text + "`";
}

std::string quoted(const std::string& text) {
  return "`" + text + "`";
}

bool changes_something(const RpcRecord& rpc) {
  constexpr std::string_view kUnsafe[] = {"POST", "PUT", "PATCH", "DELETE"};  // RFC 9110 §9.2.1
  return rpc.protocol() == Protocol::kHttp &&
         std::find(std::begin(kUnsafe), std::end(kUnsafe), rpc.method) != std::end(kUnsafe);
}

// The caller sees an exception or an error of its library, and no answer.
bool ends_without_answer(FaultKind kind) {
  return kind == FaultKind::kRefused || kind == FaultKind::kReset || kind == FaultKind::kTimeout ||
         kind == FaultKind::kTls || kind == FaultKind::kStreamReset || kind == FaultKind::kGoaway;
}
bool changes_the_answer(FaultKind kind) {
  return kind == FaultKind::kPartialMessage || kind == FaultKind::kEmptyMessage ||
         kind == FaultKind::kCorruptMessage || kind == FaultKind::kContentLength;
}

// What the caller has to handle: "a call that gets no answer", "an answer of 503".
std::string to_handle(const FaultSpec& spec) {
  if (ends_without_answer(spec.kind)) return "a call that gets no answer";
  if (spec.kind == FaultKind::kStatus) return "an answer of " + std::to_string(spec.status);
  if (spec.kind == FaultKind::kRedis)
    return spec.reply.empty() ? "a null of Redis" : "the error " + spec.reply + " of Redis";
  const std::string words = fault_in_words(to_text(spec));
  return words.starts_with("answer ") ? "an " + words : words;
}

// A sentence that does not depend on the kind of the fault.
Mending whole(std::string text) {
  return {std::move(text), {}, "", ""};
}

bool same_site(const RpcRecord& rpc, const InjectedFault& fault) {
  return rpc.caller == fault.caller && rpc.service == fault.service && rpc.method == fault.method &&
         rpc.stack_text == fault.stack;
}

// The request took effect, no answer came, and the caller sent it again.
bool sent_again_after_effect(const Facts& facts) {
  if (!facts.spec.after_effect || facts.faulted == nullptr) return false;
  if (facts.faulted->method == "GET" || facts.faulted->method == "HEAD") return false;
  return std::any_of(facts.rpcs.begin(), facts.rpcs.end(), [&](const RpcRecord& rpc) {
    return rpc.issued_ns > facts.faulted->issued_ns &&
           rpc.parent_rpc == facts.faulted->parent_rpc && same_site(rpc, facts.fault);
  });
}

Mending no_timeout(const Facts& facts) {
  if (facts.failure.verdict != Verdict::kNoTimeout) return {};
  const bool of_body = stalls(facts.spec) || facts.spec.kind == FaultKind::kSlowBody;
  return {"Give the call at " + site_of(facts) + " ",
          {of_body ? "a limit for its whole answer" : "a timeout"},
          ": " + quoted(facts.fault.caller) + " waited until the silence was ended."};
}

Mending done_twice(const Facts& facts) {
  const bool twice = facts.failure.verdict == Verdict::kDoneTwice;
  if (!twice && !sent_again_after_effect(facts)) return {};
  return whole(
      "Send an idempotency key with the call at " + site_of(facts) + ", by which " +
      quoted(facts.fault.service) +
      " knows the second attempt again, or do not send it again: the first attempt took effect.");
}

// The exception that the fault's caller has logged, which came through the call site.
Mending not_caught(const Facts& facts) {
  const std::vector<std::string>& stack = facts.fault.stack;
  for (const LoggedException& one : facts.logged) {
    if (one.service != facts.fault.caller) continue;
    if (std::find(stack.begin(), stack.end(), one.place) == stack.end()) continue;
    const bool handled = facts.above == nullptr || facts.above->status != kInternalError;
    if (handled && facts.failure.verdict != Verdict::kCrashed) continue;
    const std::string where = " at " + site_of(facts) +
                              ", and answer with a fallback or with an error that the test accepts";
    if (facts.failure.verdict == Verdict::kCrashed)
      return {"Catch ", {quoted(one.type)}, where + "."};
    const std::string answered = ", and " + quoted(facts.fault.caller) + " answered 500.";
    return {"Catch ",
            {quoted(one.type)},
            where + ": nothing caught it" + answered,
            where + ": nothing caught them" + answered};
  }
  return {};
}

Mending ends_its_caller(const Facts& facts) {
  if (facts.failure.verdict != Verdict::kCrashed) return {};
  if (!facts.failure.detail.starts_with(facts.fault.caller + " ")) return {};
  return {"Handle ",
          {to_handle(facts.spec)},
          " at " + site_of(facts) + ", so that " + quoted(facts.fault.caller) + " does not end."};
}

Mending endless_retries(const Facts& facts) {
  if (facts.failure.verdict != Verdict::kTestTimeout) return {};
  const auto times = [&](const std::vector<RpcRecord>& rpcs) {
    return static_cast<size_t>(std::count_if(rpcs.begin(), rpcs.end(), [&](const RpcRecord& rpc) {
      return same_site(rpc, facts.fault);
    }));
  };
  const size_t now = times(facts.rpcs), then = times(facts.reference);
  if (now < then + kManyMore) return {};
  return {"Bound the retries at " + site_of(facts) + ": it called ",
          {std::to_string(now)},
          " times, and " + std::to_string(then) + (then == 1 ? " time" : " times") +
              " without the fault."};
}

// What the same request of the caller had changed elsewhere before the fault stands, and the caller reports a failure.
Mending not_undone(const Facts& facts) {
  if (facts.failure.verdict != Verdict::kFailed || facts.above == nullptr) return {};
  if (!facts.above->answered_with_error()) return {};
  const RpcRecord* first = nullptr;  // hit by the fault, or one that came before it from this site
  const RpcRecord* done = nullptr;
  for (const RpcRecord& rpc : facts.rpcs) {
    if (rpc.parent_rpc != facts.above->rpc || rpc.caller != facts.fault.caller) continue;
    if (same_site(rpc, facts.fault)) {
      if (first == nullptr) first = &rpc;
    } else if (first == nullptr && changes_something(rpc) && rpc.answered() && !rpc.failed()) {
      done = &rpc;
    } else if (first != nullptr && done != nullptr && rpc.service == done->service &&
               changes_something(rpc)) {
      return {};  // it may be what undoes it
    }
  }
  if (first == nullptr || done == nullptr) return {};
  return whole("If it is not to stand, undo " + quoted(call_name(*done, done->target)) + " of " +
               quoted(done->service) + " where the call at " + site_of(facts) +
               " fails: it had taken effect before, and nothing was sent to " +
               quoted(done->service) + " after.");
}

// The caller's framework has answered for it, or it passes the failure on.
Mending not_handled(const Facts& facts) {
  if (facts.failure.verdict != Verdict::kFailed || facts.above == nullptr ||
      facts.before == nullptr || facts.before->answered_with_error())
    return {};
  const RpcRecord& above = *facts.above;
  if (above.protocol() != Protocol::kHttp || !above.answered_with_error()) return {};
  const std::string site = site_of(facts);
  if (above.status != kInternalError) {
    return {"A fallback at " + site + " would let " + quoted(facts.fault.caller) +
                " answer without " + quoted(facts.fault.service) + "; it passes the failure on as ",
            {std::to_string(above.status)},
            ", which the test has to accept otherwise."};
  }
  return {"Handle ",
          {to_handle(facts.spec)},
          " at " + site + " (a `catch` or a fallback): " + quoted(facts.fault.caller) +
              " answered 500."};
}

// The caller answers as if all were well, with something else.
Mending incomplete_answer(const Facts& facts) {
  if (facts.failure.verdict != Verdict::kFailed || facts.above == nullptr ||
      facts.before == nullptr || changes_the_answer(facts.spec.kind))
    return {};
  const RpcRecord &now = *facts.above, &then = *facts.before;
  if (!now.answered() || now.failed() || !then.answered() || now.status != then.status) return {};
  if (now.response == then.response) return {};
  return whole(
      "Let the failure of the call at " + site_of(facts) +
      " be seen: " + quoted(facts.fault.caller) + " answered " + ending_name(now) +
      " as without the fault, with another body. An error, or a whole fallback, would tell its caller.");
}

// Data of an answer that was changed went on.
Mending unchecked_data(const Facts& facts) {
  if (!changes_the_answer(facts.spec.kind) || facts.fault.stack.empty()) return {};
  ExecutionRecord record;
  record.rpcs = facts.reference;
  for (const Finding& lint : lint_reference(record)) {
    if (lint.lint != Lint::kForwardedResponse || lint.calls.empty()) continue;
    if (lint.calls[0].stack != facts.fault.stack) continue;
    return whole("Check the data of the answer at " + site_of(facts) +
                 " before it is used: it goes straight into the next request (lint " +
                 quoted(std::string(row_of(lint.lint).name)) + ").");
  }
  return {};
}

// The first that says something is taken: what is surest comes first.
using Rule = Mending (*)(const Facts&);
constexpr Rule kRules[] = {no_timeout,      done_twice,        not_caught,
                           ends_its_caller, endless_retries,   not_undone,
                           not_handled,     incomplete_answer, unchecked_data};

FaultSpec spec_of(const std::string& text) {
  const auto fault = parse_fault(text);
  if (!fault) return {};
  if (fault->kind != FaultKind::kAttempts || fault->attempts.rules.empty()) return fault.value();
  return fault->attempts.rules[0].outcome;
}

}  // namespace

Mending what_would_mend(const Execution& failure, const std::vector<RpcRecord>& rpcs,
                        const std::vector<RpcRecord>& reference,
                        const std::vector<LoggedException>& logged) {
  if (failure.faults.empty()) return {};
  const InjectedFault& fault = failure.faults.back();
  Facts facts{failure, rpcs, reference, logged, fault, spec_of(fault.fault)};
  for (const RpcRecord& rpc : rpcs) {
    if (rpc.injected && same_site(rpc, fault)) facts.faulted = &rpc;
  }
  if (facts.faulted != nullptr && facts.faulted->parent_rpc != 0) {
    for (const RpcRecord& rpc : rpcs) {
      if (rpc.rpc == facts.faulted->parent_rpc) facts.above = &rpc;
    }
  }
  if (facts.above != nullptr) {
    for (const RpcRecord& rpc : reference) {
      if (rpc.index == facts.above->index) facts.before = &rpc;
    }
  }
  for (const Rule rule : kRules) {
    if (Mending mending = rule(facts); !mending.empty()) return mending;
  }
  return {};
}

}  // namespace filibuster::lint
