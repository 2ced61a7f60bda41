// The text for a person: the findings, the worst first, then all call sites, then what was not
// probed.
#include <algorithm>
#include <cstdio>
#include <map>

#include "core/text/shell_word.h"
#include "daemon/lint/record_view.h"
#include "daemon/redact/redact.h"

namespace filibuster::lint {
namespace {

constexpr size_t kMaxCalls = 6;    // shown of one finding
constexpr size_t kMaxFrame = 120;  // bytes; names of C++ functions can fill a screen

std::string frame_text(const std::string& frame) {
  if (frame.size() <= kMaxFrame) return frame;
  size_t end = kMaxFrame;
  while (end > 0 && (static_cast<unsigned char>(frame[end]) & 0xC0) == 0x80) --end;  // UTF-8
  return frame.substr(0, end) + "...";
}

// Two frames: the innermost one is often that of a helper, and the frame that called it tells more.
std::string place_of(const Call& call) {
  if (call.stack.empty()) return "(call site not known)";
  std::string out = frame_text(call.stack[0]);
  if (call.stack.size() > 1) out += ", from " + frame_text(call.stack[1]);
  return out;
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
  std::string last_place;
  for (const Call& call : finding.calls) {
    if (++shown > kMaxCalls) {
      out += "       and " + std::to_string(finding.calls.size() - kMaxCalls) + " more\n";
      break;
    }
    const std::string place = place_of(call);
    if (place != last_place) out += "       " + place + "\n";
    last_place = place;
    out += "         " + call_text(call, "  ") + "\n";
  }
  if (!finding.replay.empty()) {
    out += "     run it again: filibuster replay " + shell_word(finding.replay) + "\n";
  } else if (finding.lint != Lint::kRetryWithoutBackoff && !finding.calls.empty()) {
    out += "     see it among the others: " + trace_command(report, test) + "   (index " +
           to_hex(finding.calls.front().index).substr(0, 8) + "...)\n";
  }
  return out;
}

std::string site_line(const CallSite& site) {
  std::string out = "    " + place_of(site.first) + "\n      " + call_text(site.first, "  ") +
                    ", " +
                    (site.rpcs == 0 ? "only under faults" : counted(site.rpcs, "RPC", "RPCs"));
  if (!site.timeout.empty()) out += site.timeout == "none" ? ", no timeout" : ", has a timeout";
  if (site.retries)
    out += *site.retries == 0 ? ", no retry"
                              : ", " + counted(*site.retries, "retry", "retries") + " seen";
  return out + "\n";
}

// Grouped by reason: many call sites often share one.
std::string not_probed_text(const std::vector<NotProbed>& rows) {
  std::map<std::string, std::string> by_reason;
  for (const NotProbed& row : rows) {
    by_reason["  not probed (" + row.what + "): " + redact(row.reason) + "\n"] +=
        "    " + place_of(row.call) + "\n      " + call_text(row.call, "  ") + "\n";
  }
  std::string out;
  for (const auto& [reason, sites] : by_reason) out += reason + sites;
  return out;
}

std::string test_text(const Report& report, const TestLint& test) {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.1f s", test.seconds);
  const auto used = std::count_if(test.sites.begin(), test.sites.end(),
                                  [](const CallSite& site) { return site.rpcs > 0; });
  std::string out = "test \"" + test.test + "\": " + counted(test.rpcs, "RPC", "RPCs") + " from " +
                    counted(static_cast<uint64_t>(used), "call site", "call sites") + ", " +
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
  out += not_probed_text(test.not_probed);
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
