// The text for a person: findings, the summary at the end, the tree of RPCs.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <map>

#include "core/text/shell_word.h"
#include "daemon/agents/call_name.h"
#include "daemon/report/dependency.h"
#include "daemon/report/finding.h"
#include "daemon/report/redact.h"
#include "daemon/report/results.h"

namespace filibuster {
namespace {

constexpr size_t kMaxOutputLines = 20;  // the last lines of the test's own output
constexpr size_t kMaxArguments = 300;   // bytes

std::string seconds_text(double seconds) {
  char text[32];
  if (seconds < 1) {
    std::snprintf(text, sizeof text, "%.0f ms", seconds * 1000);
  } else if (seconds < 120) {
    std::snprintf(text, sizeof text, "%.1f s", seconds);
  } else {
    const auto whole = static_cast<uint64_t>(seconds);
    std::snprintf(text, sizeof text, "%" PRIu64 " min %02" PRIu64 " s", whole / 60, whole % 60);
  }
  return text;
}

std::string cut(const std::string& text, size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;  // UTF-8
  return text.substr(0, most) + "...";
}

std::string counted(uint64_t number, const char* one, const char* many) {
  return std::to_string(number) + " " + (number == 1 ? one : many);
}

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
    out += lines[i];
    out += '\n';
  }
  return out;
}

// "users -> bookings  GET /users/x/bookings (call 2)"
std::string counted_call(const InjectedFault& fault) {
  std::string out = call_text(fault);
  if (fault.count > 1) out += " (call " + std::to_string(fault.count) + ")";
  return out;
}

std::string joined(const std::vector<std::string>& texts, const char* between) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : between) + text;
  return out;
}

std::string fault_lines(const InjectedFault& fault, const std::string& indent) {
  std::string out = indent + counted_call(fault) + "\n";
  out += indent + "  fault         " + fault_text(fault);
  const std::string words =
      fault.as_reset ? "the connection was already open, so the caller saw a reset; what it "
                       "does about a refused connection was not tried"
                     : fault_in_words(fault.fault);
  if (words != fault.fault) out += ": " + words;
  if (!fault.arguments.empty()) {
    out += "\n" + indent + "  arguments     " + cut(redact_object(fault.arguments), kMaxArguments);
  }
  out += "\n" + indent + "  call site     " +
         (fault.call_site.empty() ? "not known" : fault.call_site) + "\n";
  if (!fault.service_path.empty()) {
    out += indent + "  service path  " + joined(fault.service_path, " > ") + "\n";
  }
  return out;
}

std::string reproduced_text(const Finding& finding) {
  if (!finding.reproduced) return "";
  return *finding.reproduced ? "replayed once: fails again"
                             : "replayed once: DID NOT REPRODUCE (the failure depends on more than "
                               "these faults)";
}

std::string finding_text(const Finding& finding, const std::string& indent) {
  std::string out;
  for (const InjectedFault& fault : finding.minimal) out += fault_lines(fault, indent);
  const std::string output = last_lines(redact(finding.minimal_execution.output), kMaxOutputLines,
                                        (indent + "  | ").c_str());
  if (!output.empty()) out += indent + "last lines of the test's own output:\n" + output;
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
  if (!finding.counterexample.empty()) {
    out += indent + "run it again: filibuster replay " + shell_word(finding.counterexample) + "\n";
  }
  return out;
}

// "the test fails (exit status 1)"
std::string what_fails(const Execution& execution) {
  std::string what = "the test fails";
  if (execution.verdict == Verdict::kCrashed) what = "a service crashes";
  if (execution.verdict == Verdict::kTestTimeout) what = "the test does not end";
  if (execution.verdict == Verdict::kNoTimeout) what = "a caller waits without end";
  if (!execution.detail.empty()) what += " (" + redact(execution.detail) + ")";
  return what;
}

std::string list_text(const std::string& title, const std::vector<std::string>& lines) {
  if (lines.empty()) return "";
  std::string out = "  " + title + "\n";
  for (const std::string& line : lines) out += "    " + redact(line) + "\n";
  return out;
}

std::string dependency_text(const NotInterposedRecord& record) {
  const std::string peer = record.target_service.empty()
                               ? record.peer
                               : record.target_service + " (" + record.peer + ")";
  return record.service + (record.outgoing ? " -> " : " <- ") + peer + ": " + reason_text(record) +
         ", " + counted(record.times, "time", "times");
}

std::string dependencies_text(const TestReport& test) {
  std::vector<std::string> lines;
  for (const auto& record : test.dependencies_not_tested) lines.push_back(dependency_text(record));
  return list_text("dependencies that were not tested (connections not interposed):", lines);
}

// Executions without a conclusion are grouped by cause. Of the other rows that share a reason, the
// first three are shown, and the number of the rest.
std::vector<std::string> skipped_lines(const TestReport& test) {
  constexpr size_t kShown = 3;
  std::map<std::string, size_t> times;
  std::vector<std::string> lines, order;
  for (const Unexplained& group : test.unexplained) lines.push_back(to_line(group));
  for (const Skipped& row : test.skipped) {
    if (row.cause) continue;
    const size_t seen = ++times[row.reason];
    if (seen == 1) order.push_back(row.reason);
    if (seen <= kShown) lines.push_back(row.what + ": " + row.reason);
  }
  for (const std::string& reason : order) {
    if (times[reason] <= kShown) continue;
    lines.push_back("and " + std::to_string(times[reason] - kShown) +
                    " more (all are in report.json): " + reason);
  }
  return lines;
}

// Shows only a few of the lines that differ in their numbers only (a background caller that counts:
// "/tick/1", "/tick/2", ...), and how many more there are.
std::vector<std::string> alike_once(const std::vector<std::string>& lines) {
  constexpr size_t kShown = 3;
  const auto shape = [](const std::string& line) {
    std::string out;
    for (const char c : line) {
      const bool digit = c >= '0' && c <= '9';
      if (!digit) out += c;
      if (digit && (out.empty() || out.back() != '0')) out += '0';
    }
    return out;
  };
  std::map<std::string, size_t> times;
  for (const std::string& line : lines) ++times[shape(line)];
  std::map<std::string, size_t> seen;
  std::vector<std::string> out;
  for (const std::string& line : lines) {
    const std::string form = shape(line);
    const size_t number = ++seen[form];
    const size_t all = times[form];
    if (number <= kShown || all == kShown + 1) out.push_back(line);
    if (number == kShown + 1 && all > number)
      out.push_back("and " + std::to_string(all - kShown) +
                    " more that differ in their numbers only (all are in report.json)");
  }
  return out;
}

// "front -> a GET /: status:500 (2 executions): taken as equal to what was seen under ..."
std::string pruned_line(const PrunedUnlike& pruned) {
  std::string like;
  for (const InjectedFault& fault : pruned.like)
    like += (like.empty() ? "under " : " + ") + call_text(fault, " ") + ": " + fault_text(fault);
  const std::string fault = pruned.faults.empty() ? pruned.rpc
                                                  : call_text(pruned.faults.back(), " ") + ": " +
                                                        fault_text(pruned.faults.back());
  return fault + " (" + counted(pruned.executions, "execution", "executions") +
         "): taken as equal to what was seen " + (like.empty() ? "without faults" : like) +
         ", although " + pruned.rpc + " was answered there with another body";
}

std::string test_text(const TestReport& test) {
  const search::SearchCounts& counts = test.counts;
  std::string out =
      "test \"" + test.test + "\": " + counted(counts.executed, "execution", "executions") +
      " in " + seconds_text(test.seconds) + ", " + std::to_string(counts.redundant) + " redundant" +
      (counts.abandoned > 0 ? ", " + std::to_string(counts.abandoned) + " WITHOUT A CONCLUSION"
                            : std::string()) +
      (test.finished ? "" : ", NOT FINISHED");
  out +=
      test.findings.empty()
          ? (test.finished ? ": no failure found" : ": no failure found so far") +
                (test.rpcs.untested.empty()
                     ? std::string()
                     : ", " + counted(test.rpcs.untested.size(), "RPC", "RPCs") + " NOT TESTED") +
                "\n"
          : ": " + counted(test.findings.size(), "finding", "findings") + "\n";
  if (test.median_execution_seconds > 0) {
    out += "  an execution takes " + seconds_text(test.median_execution_seconds) +
           " (median), without faults " + seconds_text(test.reference_seconds) + "\n";
  }
  for (const Finding& finding : test.findings) {
    out += "\n  " + (finding.number > 0 ? "finding " + std::to_string(finding.number) + ": " : "") +
           headline(finding) + "\n" + finding_text(finding, "     ");
  }
  if (!test.findings.empty()) out += "\n";
  out += list_text("faults that were injected:", test.fault_configuration);
  std::vector<std::string> lines = skipped_lines(test);
  // If a bound ended the search, `beyond_bound` contains the open executions, too.
  if (!test.finished && !test.time_over && counts.open > 0 && counts.beyond_bound < counts.open) {
    lines.push_back(counted(counts.open, "scheduled execution", "scheduled executions") +
                    ": the exploration was stopped; run it again to continue");
  }
  out += list_text("not explored:", lines);
  out += left_text(test);
  lines.clear();
  for (const PrunedUnlike& pruned : test.pruned_unlike) lines.push_back(pruned_line(pruned));
  out += list_text(
      "not executed, because answers with the same status counted as equal (--reduce sound "
      "compares their bodies, too, and executes these):",
      lines);
  out += dependencies_text(test);
  out += list_text("RPCs that were never faulted:", alike_once(test.without_cause));
  lines.clear();
  for (const Timeouts& client : test.timeouts) lines.push_back(to_line(client));
  out += list_text("timeouts that were injected:", lines);
  lines.clear();
  std::vector<std::string> under_faults;
  for (const Variation& variation : test.variations) {
    const std::string line = variation.rpc + ": " + variation.what + ", " +
                             std::string(effect_text(variation.effect)) +
                             (variation.reason.empty() || variation.reason == variation.what
                                  ? ""
                                  : " (" + variation.reason + ")");
    if (variation.under.empty()) {
      lines.push_back(line);
    } else {
      under_faults.push_back(line + ", under " + variation.under);
    }
  }
  out += list_text("what varied between " + std::to_string(test.reference_executions) +
                       " executions without faults:",
                   lines);
  out += list_text("what varied between executions with the same faults:", under_faults);
  if (!test.proposed_masks.empty()) {
    out +=
        "  masked for this run; to have it so from the start, write into the configuration:\n"
        "\"nondeterminism\": " +
        test.proposed_masks + "\n";
  }
  out += list_text("notes:", alike_once(test.notes));
  return out;
}

// --- the tree ---

std::string tree_line(const RpcRecord& rpc) {
  std::string out = (rpc.caller.empty() ? "?" : rpc.caller) + " -> " + rpc.service + "  " +
                    call_name(rpc, redact(rpc.target));
  if (!rpc.arguments.empty()) out += " " + cut(redact_object(rpc.arguments), kMaxArguments);
  if (rpc.count > 1) out += " (call " + std::to_string(rpc.count) + ")";
  out += rpc.protocol() != Protocol::kHttp ? " -> " : "  ";
  out += rpc.injected ? "injected " + to_text(rpc.fault) : redact(ending_name(rpc));
  if (!rpc.stack_text.empty()) out += "  at " + rpc.stack_text.front();
  if (rpc.cause == Cause::kNone) {
    out += "  [cause not known]";
  } else if (rpc.parent_rpc != 0) {
    out += "  [by " + std::string(cause_name(rpc.cause)) + "]";
  }
  return out;
}

// By id of the causing RPC, in order of issue.
using Children = std::multimap<uint64_t, const RpcRecord*>;

void add_children(const Children& children, uint64_t of, const std::string& indent,
                  size_t depth_left, std::string* out) {
  const auto [begin, end] = children.equal_range(of);
  for (auto at = begin; at != end; ++at) {
    const bool last = std::next(at) == end;
    const bool root = of == 0;
    const std::string branch = root ? "" : last ? "`- " : "|- ";
    *out += to_hex(at->second->index) + "  " + indent + branch + tree_line(*at->second) + "\n";
    if (depth_left == 0) continue;  // ids that form a circle come from a confused agent
    add_children(children, at->second->rpc,
                 indent + (root   ? ""
                           : last ? "   "
                                  : "|  "),
                 depth_left - 1, out);
  }
}

}  // namespace

void InjectedFault::set_fault(const FaultSpec& spec) {
  fault = to_text(spec);
  key = fault_key(spec);
  if (key == fault) key.clear();
  message = spec.message;
}

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
      return "half a message, then a reset of the stream";
    case FaultKind::kEmptyMessage:
      return "answer with empty messages";
    case FaultKind::kCorruptMessage:
      return "answer with corrupted messages";
    case FaultKind::kNoTrailers:
      return "answer without its trailers (no grpc-status)";
    case FaultKind::kRedis:
      return fault->reply.empty() ? "Redis answers with a null"
                                  : "Redis answers with the error " + fault->reply;
  }
  return text;
}

std::string headline(const Finding& finding) {
  const std::string what = what_fails(finding.minimal_execution);
  return finding.minimal.empty()
             ? what + " without any fault"
             : what + " under " + counted(finding.minimal.size(), "fault", "faults in combination");
}

std::string call_text(const InjectedFault& fault, std::string_view between) {
  return (fault.caller.empty() ? "?" : fault.caller) + " -> " +
         (fault.service.empty() ? "?" : fault.service) + std::string(between) +
         call_name(fault.method, redact(fault.path), fault.protocol);
}

std::string fault_text(const InjectedFault& fault) {
  return fault.fault + (fault.message.empty() ? "" : " \"" + redact(fault.message) + "\"") +
         (fault.as_reset ? " (as a reset)" : "");
}

std::string to_text(const Finding& finding) {
  return "test \"" + finding.minimal_execution.test + "\": " + headline(finding) + "\n" +
         finding_text(finding, "  ");
}

std::string to_line(const Finding& finding) {
  std::string faults;
  for (const InjectedFault& fault : finding.minimal) {
    faults += (faults.empty() ? " under " : " + ") + counted_call(fault) + ": " + fault_text(fault);
  }
  return what_fails(finding.minimal_execution) + (faults.empty() ? " without any fault" : faults);
}

std::string to_text(const SessionReport& report) {
  std::string out;
  size_t findings = 0;
  bool finished = true;
  for (const TestReport& test : report.tests) {
    if (!out.empty()) out += "\n";
    out += test_text(test);
    findings += test.findings.size();
    finished = finished && test.finished;
  }
  if (report.tests.size() > 1) {
    out += "\n" + counted(report.tests.size(), "test", "tests") + ", " +
           counted(findings, "finding", "findings") + (finished ? "" : ", not finished") + "\n";
  }
  if (const std::string baseline = baseline_text(report); !baseline.empty()) out += "\n" + baseline;
  return out;
}

std::string tested_text(const SessionReport& report) {
  TestedRpcs all;
  for (const TestReport& test : report.tests) all.add(test.rpcs);
  if (all.tested.empty() && all.untested.empty() && all.by_configuration.empty()) return "";
  // --allow-untested accepts neither RPCs that an interrupted exploration did not reach, since the same
  // command goes on with them, nor executions without a conclusion.
  const bool may_be_accepted =
      std::any_of(all.untested.begin(), all.untested.end(),
                  [](const auto& row) { return row.second != kInterruptedBefore; }) &&
      std::none_of(report.tests.begin(), report.tests.end(),
                   [](const TestReport& test) { return test.counts.abandoned > 0; });
  return to_line(all) +
         (may_be_accepted && !report.allow_untested ? "; --allow-untested accepts that" : "") +
         "\n";
}

std::string limits_text(const TestReport& test) {
  return dependencies_text(test) + list_text("notes:", alike_once(test.notes));
}

std::string damaged_fields_text(uint64_t requests) {
  return counted(requests, "request", "requests") +
         " carried a forged or damaged x-filibuster field, which counted for nothing";
}

std::string tree_text(const std::vector<RpcRecord>& rpcs) {
  std::map<uint64_t, bool> known;
  for (const RpcRecord& rpc : rpcs) known[rpc.rpc] = true;
  Children children;
  for (const RpcRecord& rpc : rpcs) {
    // An RPC whose cause was not seen becomes a root of the tree.
    const bool under = rpc.parent_rpc != rpc.rpc && known.contains(rpc.parent_rpc);
    children.emplace(under ? rpc.parent_rpc : 0, &rpc);
  }
  std::string out;
  add_children(children, 0, "", rpcs.size(), &out);
  return out;
}

}  // namespace filibuster
