#include "daemon/report/causes.h"

#include <algorithm>
#include <map>
#include <set>

#include "daemon/report/failed_assertions.h"
#include "daemon/report/words.h"

namespace filibuster {
namespace {

constexpr size_t kLastLines = 3;

// A summary line of pytest is cut where the terminal ends, so that its last word may be a part.
std::string whole_words(const std::string& text) {
  if (!text.ends_with("...")) return text;
  return text.substr(0, std::min(text.rfind(' '), text.size() - 3));
}

std::string last_lines(std::string_view output) {
  std::string out;
  for (size_t taken = 0; taken < kLastLines && !output.empty();) {
    const size_t end = output.find_last_not_of(" \t\r\n");
    if (end == std::string_view::npos) break;
    output = output.substr(0, end + 1);
    const size_t begin = output.rfind('\n') == std::string_view::npos ? 0 : output.rfind('\n') + 1;
    out += masked(output.substr(begin)) + "\n";
    output = output.substr(0, begin);
    ++taken;
  }
  return out;
}

std::string site_of(const InjectedFault& fault) {
  std::string where = fault.caller + " " + fault.service;
  // Calls through one helper are told apart by who calls it.
  for (const std::string& frame : fault.stack) where += " " + frame;
  return fault.stack.empty() ? where + " " + fault.method + " " + masked(fault.path) : where;
}

}  // namespace

std::string cause_key(const Execution& failure) {
  std::set<std::string> parts;
  for (const InjectedFault& fault : failure.faults) parts.insert("at " + site_of(fault));
  const bool failed = failure.verdict == Verdict::kFailed;
  // Of a crash, the detail says which service ended, and how.
  if (!failed) parts.insert("detail " + masked(failure.detail));
  const auto assertions = failed ? failed_assertions(failure.output) : std::vector<FailedAssertion>();
  for (const FailedAssertion& one : assertions)
    parts.insert("failed " + one.test + " " +
                 (one.place.empty() ? masked(whole_words(one.what)) : one.place));
  if (failed && assertions.empty()) parts.insert("output " + last_lines(failure.output));
  std::string key = std::string(verdict_name(failure.verdict)) + "\n";
  for (const std::string& part : parts) key += part + "\n";
  return key;
}

std::vector<FailureCause> causes_of(const std::vector<Finding>& findings) {
  std::vector<FailureCause> out;
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < findings.size(); ++i) {
    const auto [place, added] =
        places.emplace(cause_key(findings[i].minimal_execution), out.size());
    if (added) out.emplace_back();
    out[place->second].findings.push_back(i);
  }
  for (FailureCause& cause : out) {
    std::stable_sort(cause.findings.begin(), cause.findings.end(), [&](size_t a, size_t b) {
      return findings[a].minimal.size() < findings[b].minimal.size();
    });
  }
  return out;
}

std::vector<std::string> passed_there(const TestReport& test, const FailureCause& cause) {
  const Finding& first = test.findings[cause.findings.front()];
  std::set<std::string> sites, passed, failed;
  for (const InjectedFault& fault : first.minimal) sites.insert(fault.call_site);
  sites.erase("");
  if (sites.size() != 1) return {};
  for (const FaultCase& row : test.cases) {
    if (!sites.contains(row.call_site)) continue;
    const size_t at = row.name.rfind(": ");
    if (at == std::string::npos) continue;
    if (row.state == CaseState::kPassed) passed.insert(row.name.substr(at + 2));
    if (row.state != CaseState::kPassed) failed.insert(row.name.substr(at + 2));
  }
  std::vector<std::string> out;
  std::set_difference(passed.begin(), passed.end(), failed.begin(), failed.end(),
                      std::back_inserter(out));
  return out;
}

std::string counted_findings(const std::vector<Finding>& findings) {
  const size_t causes = causes_of(findings).size();
  std::string out = counted(causes, "finding", "findings");
  if (causes < findings.size())
    out += " (" + std::to_string(findings.size()) + " sets of faults)";
  return out;
}

}  // namespace filibuster
