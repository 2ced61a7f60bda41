#include "daemon/report/causes.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "daemon/report/words.h"
#include "daemon/suite/failed_tests.h"

namespace filibuster {
namespace {

// `text` with '#' in the place of what differs from run to run: numbers, and identifiers of hexadecimal digits.
std::string masked(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_hex = [](unsigned char c) { return std::isxdigit(c) != 0; };
  const auto is_word = [](unsigned char c) { return std::isalnum(c) != 0; };
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (!is_word(text[at])) {
      out += text[at++];
      continue;
    }
    size_t end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    const std::string_view word = text.substr(at, end - at);
    constexpr size_t kShortestIdentifier = 6;
    if (word.size() >= kShortestIdentifier && std::any_of(word.begin(), word.end(), is_digit) &&
        std::all_of(word.begin(), word.end(), is_hex)) {
      out += '#';
    } else {
      for (const char c : word) {
        if (!is_digit(c)) out += c;
        if (is_digit(c) && !out.ends_with('#')) out += '#';
      }
    }
    at = end;
  }
  return out;
}

// A summary line of pytest is cut where the terminal ends, so that its last word may be a part.
std::string whole_words(const std::string& text) {
  if (!text.ends_with("...")) return text;
  return text.substr(0, std::min(text.rfind(' '), text.size() - 3));
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
  if (failed) {
    for (const suite::FailedTest& one : suite::own_words(failure.output).failed)
      parts.insert("failed " + one.name + " " +
                   (one.place.empty() ? masked(whole_words(one.said)) : one.place));
  }
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

std::vector<CauseMending> mendings_of(const std::vector<Finding>& findings,
                                      const FailureCause& cause) {
  std::vector<CauseMending> out;
  for (const size_t place : cause.findings) {
    const Mending& mending = findings[place].minimal_execution.mending;
    if (mending.empty()) continue;
    const auto known = std::find_if(out.begin(), out.end(), [&](const CauseMending& one) {
      return says_the_same(one.mending, mending);
    });
    if (known == out.end()) {
      out.push_back({mending, {place}});
    } else {
      add(mending, &known->mending);
      known->findings.push_back(place);
    }
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
  if (causes < findings.size()) out += " (" + std::to_string(findings.size()) + " sets of faults)";
  return out;
}

}  // namespace filibuster
