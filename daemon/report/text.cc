// The text for a person at the end of a session.
#include "daemon/report/text.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <functional>
#include <map>

#include "daemon/model/call_name.h"
#include "daemon/model/environment_error.h"
#include "daemon/model/session_report.h"
#include "daemon/redact/redact.h"
#include "daemon/report/again.h"
#include "daemon/report/causes.h"
#include "daemon/report/dependency.h"
#include "daemon/report/finding_text.h"
#include "daemon/report/results.h"
#include "daemon/report/tested.h"
#include "daemon/report/unexplained.h"
#include "daemon/report/words.h"

namespace filibuster {
namespace {

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

std::string list_text(const std::string& title, const std::vector<std::string>& lines) {
  if (lines.empty()) return "";
  constexpr size_t kShown = 10;
  std::string out = "  " + title + "\n";
  for (size_t i = 0; i < std::min(lines.size(), kShown); ++i)
    out += "    " + redact(lines[i]) + "\n";
  if (lines.size() > kShown)
    out += "    and " + std::to_string(lines.size() - kShown) + " more (all are in the report)\n";
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

// Of lines that differ in their numbers only (a background caller that counts: "/tick/1", "/tick/2", ...)
// the first, and how many more there are.
std::vector<std::string> alike_once(const std::vector<std::string>& lines) {
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
  std::vector<std::string> out;
  for (const std::string& line : lines) {
    size_t& all = times[shape(line)];
    if (all == 0) continue;  // the first of its shape was shown
    out.push_back(line + (all == 1 ? ""
                                   : " (and " + std::to_string(all - 1) +
                                         " more that differ in their numbers only)"));
    all = 0;
  }
  return out;
}

// A test that could not be explored, where the session went on with others: it is not one without findings.
std::string not_explored_text(const TestReport& test) {
  const EnvironmentError error = parse_environment_error(test.error);
  std::string out = "test \"" + test.test + "\": NOT EXPLORED" +
                    (test.counts.executed > 0 ? " TO ITS END" : "") + ": " + redact(error.what) +
                    "\n";
  if (!error.remedy.empty()) out += "  what to do: " + redact(error.remedy) + "\n";
  return out;
}

// The name of the test and how much was found, and the findings.
std::string answer_text(const TestReport& test) {
  if (!test.error.empty() && test.findings.empty()) return not_explored_text(test);
  const std::string untested =
      test.rpcs.untested.empty()
          ? ""
          : ", " + counted(test.rpcs.untested.size(), "RPC", "RPCs") + " NOT TESTED";
  return "test \"" + test.test + "\": " +
         (test.findings.empty()
              ? (test.finished ? "no failure found" : "no failure found so far") + untested
              : counted_findings(test.findings)) +
         (test.again.drifts.empty() ? "" : ", THE APPLICATION CHANGED MEANWHILE") + "\n" +
         findings_text(test);
}

bool was_forked(const TestReport& test) {
  return test.start == "forked" || test.start == "reset";
}

// How the tests of the executions were started, where that is not as a person starts one.
std::string started_text(const TestReport& test) {
  if (was_forked(test))
    return std::string(test.start == "forked" ? "; forked" : "; forked and reset") +
           " from one start of the test, before its first connection (--no-snapshot starts it each time" +
           (test.why_not_reset.empty() ? "" : "; not reset: " + redact(test.why_not_reset)) + ")";
  if (test.start == "ahead") return "; started ahead";
  return "";
}

// Where the time of an execution goes.
std::string profile_text(const TestReport& test) {
  if (test.profiled == 0) return "";
  const Phases &median = test.median_phases, &total = test.total_phases;
  const std::pair<const char*, double Phases::*> rows[] = {
      {"prepare", &Phases::prepare}, {"start", &Phases::start}, {"RPCs", &Phases::rpcs},
      {"test", &Phases::test},       {"quiet", &Phases::quiet}, {"verdict", &Phases::verdict},
      {"store", &Phases::store}};
  std::string out = "  where the time of " + counted(test.profiled, "execution", "executions") +
                    " went (median, in all):\n";
  for (const auto& [name, phase] : rows) {
    char line[80];
    std::snprintf(line, sizeof line, "    %-8s %9.2f ms %9.2f s\n", name, median.*phase * 1000,
                  total.*phase);
    out += line;
  }
  // With a remedy it stands below (not_forked_text).
  if (!was_forked(test) && !test.why_not_forked.empty() && test.remedy.empty())
    out += "    not forked: " + redact(test.why_not_forked) + "\n";
  return out;
}

// What keeps executions from taking milliseconds, a line for each reason.
std::string not_forked_text(const SessionReport& report) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;  // with the tests
  for (const TestReport& test : report.tests) {
    if (was_forked(test) || test.remedy.empty()) continue;
    const std::string why = redact(test.why_not_forked) + ". Remedy: " + test.remedy;
    auto place = std::find_if(reasons.begin(), reasons.end(),
                              [&why](const auto& row) { return row.first == why; });
    if (place == reasons.end()) place = reasons.insert(place, {why, {}});
    place->second.push_back(test.test);
  }
  std::string out;
  for (const auto& [why, tests] : reasons) {
    out += report.tests.size() == 1 ? "  the test is not forked"
           : tests.size() == 1      ? "test \"" + tests[0] + "\" is not forked"
                                    : counted(tests.size(), "test", "tests") + " (\"" + tests[0] +
                                     "\", ...) are not forked";
    out += ", so each execution starts it: " + why + "\n";
  }
  return out;
}

// What was not tested, and why.
std::string not_tested_text(const TestReport& test) {
  const search::SearchCounts& counts = test.counts;
  std::string out = drift_text(test);
  std::vector<std::string> lines = skipped_lines(test);
  // If a bound ended the search, `beyond_bound` contains the open executions, too.
  if (!test.finished && !test.time_over && counts.open > 0 && counts.beyond_bound < counts.open) {
    lines.push_back(counted(counts.open, "scheduled execution", "scheduled executions") +
                    ": the exploration was stopped; run it again to continue");
  }
  if (test.default_faults && !lines.empty())
    out += "  faults: the default set (docs/configuration.md)\n";
  out += list_text("not explored:", lines);
  if (!test.pruned_unlike.empty()) {
    out += "  " + counted(test.pruned_unlike.size(), "fault was", "faults were") +
           " not executed in some places, because answers with the same status counted as equal; "
           "--reduce sound executes them\n";
  }
  out += dependencies_text(test);
  return out + list_text("RPCs that were never faulted:", alike_once(test.without_cause));
}

// What else a reader has to know.
std::string notes_text(const TestReport& test) {
  constexpr size_t kMaxMasks = 400;  // bytes
  std::string out;
  if (!test.variations.empty()) {
    out += "  " + counted(test.variations.size(), "value varies", "values vary") +
           " from run to run; what became of each is in the report\n";
  }
  if (test.proposed_masks.size() > kMaxMasks) {
    out +=
        "  masked for this run; to have it so from the start, write into the configuration what "
        "`nondeterminism.proposed` of report.json has\n";
  } else if (!test.proposed_masks.empty()) {
    out +=
        "  masked for this run; to have it so from the start, write into the configuration:\n"
        "\"nondeterminism\": " +
        test.proposed_masks + "\n";
  }
  return out + list_text("notes:", alike_once(test.notes));
}

// How much was executed, and how long that took.
std::string counts_text(const TestReport& test) {
  const search::SearchCounts& counts = test.counts;
  if (counts.executed == 0) return "";
  std::string out =
      "  " + counted(counts.executed, "execution", "executions") + " in " +
      seconds_text(test.seconds) + ", " + std::to_string(counts.redundant) + " redundant" +
      (counts.abandoned > 0 ? ", " + std::to_string(counts.abandoned) + " WITHOUT A CONCLUSION"
                            : std::string()) +
      (test.finished ? ", finished" : ", NOT FINISHED") + "\n";
  if (test.median_execution_seconds > 0) {
    out += "  an execution takes " + seconds_text(test.median_execution_seconds) +
           " (median), without faults " + seconds_text(test.reference_seconds) +
           started_text(test) + "\n";
  }
  return out;
}

// The texts of all tests, each below the name of its test where there are several.
std::string of_each(const SessionReport& report,
                    const std::function<std::string(const TestReport&)>& text_of) {
  std::string out;
  for (const TestReport& test : report.tests) {
    const std::string text = text_of(test);
    if (text.empty()) continue;
    out += (report.tests.size() > 1 ? "test \"" + test.test + "\":\n" : "") + text;
  }
  return out;
}

// Of several tests together; "" of one.
std::string sum_text(const SessionReport& report) {
  if (report.tests.size() < 2) return "";
  size_t findings = 0, not_explored = 0;
  bool finished = true;
  for (const TestReport& test : report.tests) {
    findings += causes_of(test.findings).size();
    finished = finished && test.finished;
    not_explored += test.error.empty() ? 0 : 1;
  }
  return counted(report.tests.size(), "test", "tests") + ", " +
         counted(findings, "finding", "findings") +
         (not_explored > 0 ? ", " + std::to_string(not_explored) + " NOT EXPLORED"
          : finished       ? ""
                           : ", not finished") +
         "\n";
}

}  // namespace

std::string to_text(const SessionReport& report, const std::string& coverage) {
  std::string findings;
  for (const TestReport& test : report.tests)
    findings += (findings.empty() ? "" : "\n") + answer_text(test);
  const std::string blocks[] = {findings,
                                sum_text(report),
                                baseline_text(report),
                                of_each(report, left_text) + goes_on_text(report),
                                of_each(report, not_tested_text),
                                of_each(report, notes_text) + not_forked_text(report),
                                coverage,
                                of_each(report, [&](const TestReport& test) {
                                  return counts_text(test) +
                                         (report.profile ? profile_text(test) : "");
                                })};
  std::string out;
  for (const std::string& block : blocks)
    if (!block.empty()) out += (out.empty() ? "" : "\n") + block;
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

}  // namespace filibuster
