// A finding in words: its headline, its faults, what was seen, and the command that replays it.
#include "daemon/report/finding_text.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "core/fault/attempts.h"
#include "core/text/shell_word.h"
#include "daemon/model/call_name.h"
#include "daemon/model/test_report.h"
#include "daemon/redact/redact.h"
#include "daemon/report/call_site_text.h"
#include "daemon/report/call_stacks.h"
#include "daemon/report/causes.h"
#include "daemon/report/mending_text.h"
#include "daemon/report/words.h"
#include "daemon/suite/failed_tests.h"
#include "daemon/suite/words.h"

namespace filibuster {
namespace {

// A finding fits on a screen: these bound its longest parts.
constexpr size_t kMaxOutputLines = 10;      // the last lines of the test's own output
constexpr size_t kMaxLine = 400;            // bytes of a line
constexpr size_t kMaxShownArguments = 300;  // bytes
constexpr size_t kMaxSaid = 300;            // bytes of what a failed test says, in a headline
constexpr size_t kMaxNames = 5;             // of further tests that failed, in a headline
// Sets of faults of one cause, beside the first one, that get a line each.
constexpr size_t kMaxAlike = 10;
// Causes that are told whole; after them, causes that get a line each.
constexpr size_t kMaxWhole = 20, kMaxLines = 100;

std::string last_lines(const std::string& text, size_t count, const char* indent) {
  std::vector<std::string_view> lines;
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    lines.push_back(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  }
  while (!lines.empty() && lines.back().find_first_not_of(" \t\r") == std::string_view::npos) {
    lines.pop_back();
  }
  std::string out;
  if (lines.size() > count) out += std::string(indent) + "...\n";
  for (size_t i = lines.size() > count ? lines.size() - count : 0; i < lines.size(); ++i) {
    out += indent;
    out += cut(std::string(lines[i]), kMaxLine);
    out += '\n';
  }
  return out;
}

// Faults of a set that are told as one: those at the attempts of one call, else each for itself.
struct ToldFault {
  const InjectedFault& first;
  size_t attempts = 1;
};

// An execution with a sequence (explore/early_attempts.h) has shown which RPCs are attempts of one call; the first of them knows.
std::vector<ToldFault> told(const std::vector<InjectedFault>& faults) {
  std::vector<ToldFault> out;
  for (size_t at = 0; at < faults.size(); at += out.back().attempts) {
    const InjectedFault& first = faults[at];
    size_t alike = 1;
    while (at + alike < faults.size() && faults[at + alike].identity() == first.identity() &&
           faults[at + alike].call_site == first.call_site &&
           faults[at + alike].signature == first.signature)
      ++alike;
    out.push_back({first, alike == first.attempts.size() ? alike : 1});
  }
  return out;
}

// "(call 2)", "(each of its 3 attempts)"
std::string count_text(const ToldFault& one) {
  if (one.attempts > 1) return " (each of its " + std::to_string(one.attempts) + " attempts)";
  return one.first.count > 1 ? " (call " + std::to_string(one.first.count) + ")" : "";
}

std::string listed(const std::vector<std::string>& texts, const char* between) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : between) + text;
  return out;
}

// "/app/checkout.js:88 (pay) via /app/http.js:383 (send_request)": where only the helper is the same,
// the first frame that is not.
std::string site_text(const InjectedFault& fault, const CallStacks& stacks) {
  const size_t at = stacks.telling(fault.stack);
  return at == 0 ? call_site_text(fault.call_site)
                 : call_site_text(fault.stack[at]) + " via " + call_site_text(fault.call_site);
}

std::string fault_lines(const ToldFault& one, const CallStacks& stacks, const std::string& indent) {
  const InjectedFault& fault = one.first;
  std::string out = indent + call_text(fault) + count_text(one) + "\n";
  out += indent + "  fault         " + fault_text(fault);
  const std::string words =
      fault.as_reset ? "the connection was already open, so the caller saw a reset; what it "
                       "does about a refused connection was not tried"
                     : fault_in_words(fault.fault);
  if (words != fault.fault) out += ": " + words;
  if (!fault.attempts.empty()) {
    out += "\n" + indent + "  attempts      " + std::to_string(fault.attempts.size()) + " came: ";
    std::vector<std::string> came;
    for (const AttemptSeen& attempt : fault.attempts)
      came.push_back(attempt.outcome +
                     (attempt.grouped_by == "first" ? "" : " (" + attempt.grouped_by + ")"));
    out += listed(came, ", ");
  }
  if (!fault.arguments.empty()) {
    out += "\n" + indent + "  arguments     " +
           cut(redact_object(fault.arguments), kMaxShownArguments);
  }
  out += "\n" + indent + "  call site     " +
         (fault.call_site.empty() ? "not known" : site_text(fault, stacks)) + "\n";
  if (!fault.service_path.empty()) {
    out += indent + "  service path  " + listed(fault.service_path, " > ") + "\n";
  }
  return out;
}

std::string reproduced_text(const Finding& finding) {
  if (!finding.reproduced) return "";
  return *finding.reproduced ? "replayed once: fails again"
                             : "replayed once: DID NOT REPRODUCE (the failure depends on more than "
                               "these faults)";
}

std::string seen_text(const Finding& finding, const std::string& indent) {
  const std::vector<std::string>& lines = finding.minimal_execution.seen;
  if (lines.empty()) return "";
  std::string out = indent + "what the callers saw:\n";
  for (const std::string& line : lines) out += indent + "  " + cut(line, kMaxLine) + "\n";
  return out;
}

// "the test fails (exit status 1)"
std::string what_fails(const Execution& execution) {
  std::string what = "the test fails";
  if (execution.verdict == Verdict::kCrashed) what = "a service crashes";
  if (execution.verdict == Verdict::kTestTimeout) what = "the test does not end";
  if (execution.verdict == Verdict::kNoTimeout)
    what = execution.detail.find(kStillWaited) == std::string::npos ? "a caller waits without end"
                                                                    : "a caller waits on";
  if (execution.verdict == Verdict::kDoneTwice) what = "the server does a call twice";
  if (!execution.detail.empty()) what += " (" + redact(execution.detail) + ")";
  return what;
}

// What a failed test says, in one line. Of pytest's lines, those that say where its values come from do not belong there.
std::string said_in_one_line(const std::string& said) {
  std::string out;
  for (size_t at = 0; at < said.size();) {
    const size_t end = std::min(said.find('\n', at), said.size());
    const std::string_view line = suite::trimmed(std::string_view(said).substr(at, end - at));
    at = end + 1;
    if (line.empty() || line.starts_with("+ ")) continue;
    out += out.empty() ? "" : " ";
    out += line;
  }
  return cut(out, kMaxSaid);
}

// "test_shop.py::test_all_books fails: assert 500 in (200, 503)". Where the test's output says no such thing: "".
std::string in_its_own_words(const Execution& execution) {
  if (execution.verdict != Verdict::kFailed) return "";
  const suite::OwnWords words = suite::own_words(redact(execution.output));
  if (!words.recognised) return "";
  const suite::FailedTest& first = words.failed.front();
  const std::string said = said_in_one_line(first.said);
  std::string out =
      (first.name.empty() ? "the test" : first.name) + " fails" + (said.empty() ? "" : ": " + said);
  const size_t others = words.failed.size() - 1;
  if (others == 0) return out;
  std::vector<std::string> names;
  for (size_t i = 1; i <= std::min(others, kMaxNames); ++i) names.push_back(words.failed[i].name);
  return out + "; so " + (others == 1 ? "does " : "do ") + listed(names, ", ") +
         (others > kMaxNames ? " and " + std::to_string(others - kMaxNames) + " more" : "");
}

std::string under_faults(const Finding& finding) {
  std::string faults;
  for (const ToldFault& one : told(finding.minimal)) {
    faults += (faults.empty() ? " under " : " + ") + call_text(one.first) + count_text(one) + ": " +
              fault_text(one.first);
  }
  return faults.empty() ? " without any fault" : faults;
}

// "under 2 faults in combination", "under one fault at each of 3 attempts"
std::string under(const std::vector<InjectedFault>& faults) {
  const std::vector<ToldFault> calls = told(faults);
  if (calls.size() == 1 && calls.front().attempts > 1)
    return "under one fault at each of " + std::to_string(calls.front().attempts) + " attempts";
  return "under " + counted(faults.size(), "fault", "faults in combination");
}

std::string title(const Finding& finding) {
  return finding.number > 0 ? "finding " + std::to_string(finding.number) + ": " : "";
}

// "GET /users/x/bookings (call 2): timeout"
std::string short_fault(const ToldFault& one) {
  const InjectedFault& fault = one.first;
  return call_name(fault.method, redact(fault.path + fault.query), fault.protocol) +
         count_text(one) + ": " + fault_text(fault);
}

// "finding 3: GET /users/x (call 2): timeout + GET /movies: status:500"
std::string alike_line(const Finding& finding) {
  std::vector<std::string> faults;
  for (const ToldFault& one : told(finding.minimal)) faults.push_back(short_fault(one));
  std::string out = title(finding) + listed(faults, " + ");
  if (finding.reproduced && !*finding.reproduced) out += "; DID NOT REPRODUCE";
  if (const std::string standing = standing_text(finding); !standing.empty())
    out += "; " + standing;
  return out;
}

std::string finding_text(const Finding& finding, const CallStacks& stacks,
                         const std::string& mending, const std::string& indent) {
  std::string out;
  for (const ToldFault& one : told(finding.minimal)) out += fault_lines(one, stacks, indent);
  out += mending;
  if (!finding.counterexample.empty()) {
    out += indent + "run it again: filibuster replay " + shell_word(finding.counterexample) + "\n";
  }
  std::string notes;
  if (finding.executions > 1) {
    notes = std::to_string(finding.executions) + " failing executions contain " +
            (finding.minimal.size() > 1 ? "these faults" : "this fault");
  }
  if (const std::string replayed = reproduced_text(finding); !replayed.empty()) {
    notes += (notes.empty() ? "" : "; ") + replayed;
  }
  if (!notes.empty()) out += indent + notes + "\n";
  if (const std::string standing = standing_text(finding); !standing.empty())
    out += indent + standing + "\n";
  out += seen_text(finding, indent);
  const Execution& failure = finding.minimal_execution;
  const std::string output =
      last_lines(redact(failure.output), kMaxOutputLines, (indent + "  | ").c_str());
  if (!output.empty()) out += indent + "last lines of the test's own output:\n" + output;
  return out;
}

// What a finding is called on the terminal.
std::string own_headline(const Finding& finding) {
  const std::string words = in_its_own_words(finding.minimal_execution);
  if (words.empty()) return headline(finding);
  if (finding.minimal.empty()) return words + " without any fault";
  return finding.minimal.size() == 1 ? words : words + " (" + under(finding.minimal) + ")";
}

// What the verdict says besides the test's own words: who still waited, for example.
std::string beside_own_words(const Execution& execution, const std::string& indent) {
  const size_t at = execution.detail.find("; ");
  if (at == std::string::npos || in_its_own_words(execution).empty()) return "";
  return indent + redact(execution.detail.substr(at + 2)) + "\n";
}

// The other sets of faults of a cause, and what passes.
std::string alike_text(const TestReport& test, const FailureCause& cause) {
  const std::vector<size_t>& sets = cause.findings;
  const std::vector<std::string> passed = passed_there(test, cause);
  std::string out;
  if (!passed.empty()) out += "     passes there under: " + listed(passed, ", ") + "\n";
  if (sets.size() == 1) return out;
  out += "     fails in the same way, there, under:\n";
  for (size_t j = 1; j < sets.size() && j <= kMaxAlike; ++j)
    out += "       " + alike_line(test.findings[sets[j]]) + "\n";
  if (sets.size() > kMaxAlike + 1)
    out += "       and " + std::to_string(sets.size() - kMaxAlike - 1) +
           " more sets of faults (all are in report.json)\n";
  return out;
}

}  // namespace

std::string fault_in_words(const std::string& text) {
  const auto fault = parse_fault(text);
  if (!fault) return text;
  std::string after = fault->after_effect ? " after the request took effect" : "";
  if (fault->at_message > 0) {
    after = " after message " + std::to_string(fault->at_message) + " of the answer";
  }
  switch (fault->kind) {
    case FaultKind::kNone:
      return text;
    case FaultKind::kRefused:
      return "connection refused" + after;
    case FaultKind::kReset:
      return "connection reset" + after;
    case FaultKind::kTimeout:
      return "no answer (timeout)" + after;
    case FaultKind::kStatus:
      return "answer " + std::to_string(fault->status) + after;
    case FaultKind::kGrpc:
      return "gRPC status " + std::string(to_name(fault->code)) + after;
    case FaultKind::kStreamReset:
      return "stream reset (" + std::string(http2::to_name(fault->error)) + ")" + after;
    case FaultKind::kGoaway:
      return "the server leaves (GOAWAY) without taking the request";
    case FaultKind::kLatency:
      return "answer later by " + std::to_string(fault->latency_ms) + " ms" + after;
    case FaultKind::kPartialMessage:
      return "half of the answer, then its end";
    case FaultKind::kEmptyMessage:
      return "answer without its content";
    case FaultKind::kCorruptMessage:
      return "answer with inverted bytes";
    case FaultKind::kContentLength:
      return "answer whose Content-Length is " + std::to_string(std::abs(fault->delta)) +
             (fault->delta > 0 ? " bytes too large" : " bytes too small");
    case FaultKind::kSlowBody:
      if (stalls(fault.value())) return "answer that stops in the middle of its body";
      return "answer whose body takes " + std::to_string(fault->latency_ms) + " ms";
    case FaultKind::kTls:
      switch (fault->tls) {
        case TlsFault::kCertificateExpired:
          return "handshake of TLS in which the server's certificate has expired";
        case TlsFault::kUnknownCa:
          return "handshake of TLS with a certificate of an unknown authority";
        case TlsFault::kHandshakeTimeout:
          return "handshake of TLS that the server does not answer";
        case TlsFault::kClosedWithoutNotify:
          return "handshake of TLS in which the connection ends";
        case TlsFault::kNone:
          break;
      }
      return text;
    case FaultKind::kNoTrailers:
      return "answer without its trailers (no grpc-status)";
    case FaultKind::kAttempts: {
      std::string words;
      for (const AttemptRule& rule : fault->attempts.rules) {
        const bool passes = rule.outcome.kind == FaultKind::kNone;
        const bool one = rule.when.first == rule.when.last;
        words += (words.empty() ? "" : "; ") + std::string(one ? "attempt " : "attempts ") +
                 to_text(rule.when) + ": " +
                 (passes ? "as it is" : fault_in_words(to_text(rule.outcome)));
      }
      return words;
    }
    case FaultKind::kRedis:
      return fault->reply.empty() ? "Redis answers with a null"
                                  : "Redis answers with the error " + fault->reply;
  }
  return text;
}

std::string headline(const Finding& finding) {
  const std::string what = what_fails(finding.minimal_execution);
  return what + (finding.minimal.empty() ? " without any fault" : " " + under(finding.minimal));
}

std::string call_text(const InjectedFault& fault, std::string_view between) {
  return (fault.caller.empty() ? "?" : fault.caller) + " -> " +
         (fault.service.empty() ? "?" : fault.service) + std::string(between) +
         call_name(fault.method, redact(fault.path + fault.query), fault.protocol);
}

std::string fault_text(const InjectedFault& fault) {
  return fault.fault + (fault.message.empty() ? "" : " \"" + redact(fault.message) + "\"") +
         (fault.as_reset ? " (as a reset)" : "");
}

std::string to_text(const Finding& finding) {
  return "test \"" + finding.minimal_execution.test + "\": " + own_headline(finding) + "\n" +
         beside_own_words(finding.minimal_execution, "  ") +
         finding_text(finding, CallStacks(),
                      mending_line(finding.minimal_execution.mending, "it", "  "), "  ");
}

std::string to_line(const Finding& finding) {
  const std::string words = in_its_own_words(finding.minimal_execution);
  return (words.empty() ? what_fails(finding.minimal_execution) : words) + under_faults(finding);
}

std::string findings_text(const TestReport& test) {
  CallStacks stacks;
  for (const RpcRecord& rpc : test.reference) stacks.add(rpc.stack_text);
  for (const Finding& finding : test.findings) {
    for (const InjectedFault& fault : finding.minimal) stacks.add(fault.stack);
  }
  const std::vector<FailureCause> causes = causes_of(test.findings);
  std::string out;
  for (size_t i = 0; i < std::min(causes.size(), kMaxWhole); ++i) {
    const Finding& first = test.findings[causes[i].findings.front()];
    out += "\n  " + title(first) + own_headline(first) + "\n" +
           beside_own_words(first.minimal_execution, "     ") +
           finding_text(first, stacks, mending_lines(test.findings, causes[i], "     "), "     ") +
           alike_text(test, causes[i]);
  }
  if (causes.size() > kMaxWhole) out += "\n";
  for (size_t i = kMaxWhole; i < std::min(causes.size(), kMaxWhole + kMaxLines); ++i) {
    const std::vector<size_t>& sets = causes[i].findings;
    const Finding& first = test.findings[sets.front()];
    out += "  " + title(first) + to_line(first) +
           (sets.size() > 1 ? ", and under " + counted(sets.size() - 1, "other set of faults",
                                                       "other sets of faults")
                            : "") +
           "\n";
  }
  if (causes.size() > kMaxWhole + kMaxLines) {
    out += "  and " + std::to_string(causes.size() - kMaxWhole - kMaxLines) +
           " more findings (all are in report.json)\n";
  }
  return out;
}

}  // namespace filibuster
