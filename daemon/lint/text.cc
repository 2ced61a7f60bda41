// What a person reads: the findings, the worst first, then all call sites, then what was not
// probed.
#include <algorithm>
#include <cstdio>

#include "daemon/lint/record_view.h"
#include "daemon/report/finding.h"

namespace filibuster::lint {
namespace {

constexpr size_t kMaxCalls = 6;  // of one finding

// The innermost frame is often that of a helper: the one that called it tells more.
std::string place_of(const Call& call) {
  if (call.stack.empty()) return "(call site not known)";
  return call.place() + (call.stack.size() > 1 ? ", from " + call.stack[1] : "");
}

std::string call_text(const Call& call) {
  return call.caller + " -> " + call.service + "  " + call.method + " " + redact(call.target);
}

std::string trace_command(const Report& report, const TestLint& test) {
  if (report.config_path.empty()) return "filibuster trace with the same options";
  return "filibuster trace -c " + report.config_path +
         (report.tests.size() > 1 ? " --test '" + test.test + "'" : "");
}

std::string finding_text(const Report& report, const TestLint& test, const Finding& finding) {
  std::string out = "\n  " + std::string(severity_name(finding.severity)) + "  " +
                    std::string(row_of(finding.lint).name) + "\n     " + redact(finding.text) +
                    "\n";
  size_t shown = 0;
  for (const Call& call : finding.calls) {
    if (++shown > kMaxCalls) {
      out += "       and " + std::to_string(finding.calls.size() - kMaxCalls) + " more\n";
      break;
    }
    out += "       " + place_of(call) + "\n         " + call_text(call) + "\n";
  }
  if (!finding.replay.empty()) {
    out += "     again: filibuster replay " + finding.replay + "\n";
  } else if (finding.lint != Lint::kRetryWithoutBackoff && !finding.calls.empty()) {
    out += "     look: " + trace_command(report, test) + "   (index " +
           to_hex(finding.calls.front().index).substr(0, 8) + "...)\n";
  }
  return out;
}

std::string site_line(const CallSite& site) {
  std::string out = "    " + place_of(site.first) + "\n      " + call_text(site.first) + ", " +
                    (site.rpcs == 0 ? "only under faults" : counted(site.rpcs, "RPC", "RPCs"));
  if (!site.timeout.empty()) out += site.timeout == "none" ? ", no timeout" : ", has a timeout";
  if (site.retries)
    out += *site.retries == 0 ? ", no retry"
                              : ", " + counted(*site.retries, "retry", "retries") + " seen";
  return out + "\n";
}

std::string test_text(const Report& report, const TestLint& test) {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.1f s", test.seconds);
  std::string out = "test \"" + test.test + "\": " + counted(test.rpcs, "RPC", "RPCs") + " from " +
                    counted(test.sites.size(), "call site", "call sites") + ", " +
                    counted(test.executions, "probe", "probes") + " in " + seconds +
                    (test.finished ? "" : ", NOT FINISHED") + ": " +
                    (test.findings.empty() ? std::string("nothing found")
                                           : counted(test.findings.size(), "finding", "findings")) +
                    "\n";
  for (const Finding& finding : test.findings) out += finding_text(report, test, finding);
  if (!test.sites.empty()) {
    out += "\n  call sites:\n";
    for (const CallSite& site : test.sites) out += site_line(site);
  }
  if (!test.not_probed.empty()) {
    out += "  not probed:\n";
    for (const NotProbed& skipped : test.not_probed) {
      out += "    " + place_of(skipped.call) + "  " + call_text(skipped.call) + " (" +
             skipped.what + "): " + redact(skipped.reason) + "\n";
    }
  }
  if (!test.notes.empty()) {
    out += "  notes:\n";
    for (const std::string& note : test.notes) out += "    " + redact(note) + "\n";
  }
  return out;
}

}  // namespace

std::string to_text(const Report& report) {
  std::string out;
  for (const TestLint& test : report.tests) {
    if (!out.empty()) out += "\n";
    out += test_text(report, test);
  }
  return out;
}

}  // namespace filibuster::lint
