// The Markdown summary: GitHub Flavored Markdown, which GitLab reads too.
#include <algorithm>

#include "core/text/shell_word.h"
#include "daemon/model/environment_error.h"
#include "daemon/redact/redact.h"
#include "daemon/report/finding_text.h"
#include "daemon/report/plain_text.h"
#include "daemon/report/results.h"
#include "daemon/report/words.h"

namespace filibuster {
namespace {

constexpr size_t kShownWhole = 20;   // findings with their test's output
constexpr size_t kShownRows = 200;   // rows of a list
constexpr size_t kMaxOutput = 4000;  // bytes of the output of one test
// Room for the end of the document: what does not fit before it is counted.
constexpr size_t kRoom = kMaxMarkdown - 100'000;

// Text of others within a line. What Markdown or HTML could read as markup becomes a character
// reference (CommonMark 0.30 §2.5: it stands for the character, never for structure).
std::string inline_text(const std::string& text) {
  std::string out;
  for (const char c : one_line(redact(text))) {
    if (std::string_view("\\`*_{}[]<>()#+-.!|~&\"'@$:").find(c) == std::string_view::npos) {
      out += c;
    } else {
      out += "&#" + std::to_string(static_cast<unsigned char>(c)) + ";";
    }
  }
  return out;
}

std::string code(const std::string& text) {
  return "<code>" + inline_text(text) + "</code>";
}

// A code block. Its fence is longer than any in the text (§4.5).
std::string block(const std::string& text) {
  const std::string inside = plain_text(text);
  size_t longest = 2, run = 0;
  for (const char c : inside) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  return fence + "text\n" + inside + (inside.ends_with('\n') ? "" : "\n") + fence + "\n";
}

std::string heading(const SessionReport& report) {
  size_t all = 0;
  bool time_over = false;
  for (const TestReport& test : report.tests) {
    all += test.findings.size();
    time_over = time_over || test.time_over;
  }
  const size_t failing = report.failing();
  const std::vector<EnvironmentError> errors = environment_errors(report);
  std::string out = failing > 0 ? counted(failing, "finding fails", "findings fail")
                    : all > 0   ? counted(all, "finding, accepted", "findings, all accepted")
                    : !errors.empty() && errors.size() >= report.tests.size()
                        ? "an environment error, nothing was explored"
                        : "nothing was found";
  if (all > failing && failing > 0) out += ", " + std::to_string(all - failing) + " accepted";
  if (!errors.empty() && !errors[0].test.empty() && errors.size() < report.tests.size()) {
    out += "; " + counted(errors.size(), "test", "tests") + " could not be explored";
  } else if (!errors.empty()) {
    out += "; it did not come to its end";
  } else if (time_over) {
    out += "; the time was over before everything was explored";
  } else if (report.exit_code == 3) {
    out += "; not everything could be tested";
  }
  return out;
}

std::string error_markdown(const EnvironmentError& error) {
  std::string out = "**Environment error**" +
                    (error.test.empty() ? "" : " in test " + inline_text(error.test)) + ": " +
                    inline_text(error.what) + "\n\n";
  const std::string lines =
      error.title + (error.title.empty() || error.lines.empty() ? "" : "\n") + error.lines;
  if (!lines.empty()) out += block(redact(lines).substr(0, kMaxOutput)) + "\n";
  if (!error.remedy.empty()) out += "What to do: " + inline_text(error.remedy) + "\n\n";
  return out;
}

std::string tests_table(const SessionReport& report) {
  std::string out =
      "| test | executions | findings that fail | accepted | RPCs tested | RPCs not tested | left "
      "|\n"
      "|---|---:|---:|---:|---:|---:|---:|\n";
  for (size_t i = 0; i < report.tests.size() && i < kShownRows; ++i) {
    const TestReport& test = report.tests[i];
    const auto failing =
        static_cast<size_t>(std::count_if(test.findings.begin(), test.findings.end(),
                                          [](const Finding& finding) { return finding.fails(); }));
    out += "| " + inline_text(test.test);
    for (const uint64_t number :
         {test.counts.executed, uint64_t{failing}, uint64_t{test.findings.size() - failing},
          uint64_t{test.rpcs.tested.size()}, uint64_t{test.rpcs.untested.size()},
          test.counts.open}) {
      out += " | " + std::to_string(number);
    }
    out += " |\n";
  }
  if (report.tests.size() > kShownRows)
    out += "\nand " + std::to_string(report.tests.size() - kShownRows) + " more tests\n";
  return out + "\n";
}

std::string finding_markdown(const Finding& finding, bool whole) {
  std::string out = "- **" + inline_text(finding.minimal_execution.test) +
                    "**: " + inline_text(to_line(finding)) + " (" + finding.id + ")";
  if (finding.standing == Standing::kExpired) out += "; " + inline_text(standing_text(finding));
  out += "\n";
  for (const InjectedFault& fault : finding.minimal) {
    if (!fault.call_site.empty())
      out += "  - " + inline_text(call_text(fault, " ")) + " at " + code(fault.call_site) + "\n";
  }
  if (!finding.counterexample.empty())
    out += "  - again: " + code("filibuster replay " + shell_word(finding.counterexample)) + "\n";
  if (!whole || finding.minimal_execution.output.empty()) return out;
  std::string output = redact(finding.minimal_execution.output);
  if (output.size() > kMaxOutput) output = "...\n" + output.substr(output.size() - kMaxOutput);
  return out + "\n<details><summary>the test's output</summary>\n\n" + block(output) +
         "\n</details>\n\n";
}

std::string failing_markdown(const SessionReport& report, size_t room) {
  std::string out;
  size_t shown = 0;
  for (const TestReport& test : report.tests) {
    for (const Finding& finding : test.findings) {
      if (!finding.fails()) continue;
      const std::string next = finding_markdown(finding, shown < kShownWhole);
      if (out.size() + next.size() > room) break;
      out += next;
      ++shown;
    }
  }
  if (out.empty()) return "";
  if (const size_t all = report.failing(); all > shown)
    out += "\nand " + std::to_string(all - shown) + " more (all are in report.json)\n";
  return "## Findings\n\n" + out + "\n";
}

std::string list(const std::string& title, const std::vector<std::string>& rows, size_t* room) {
  if (rows.empty()) return "";
  std::string out = "## " + title + "\n\n";
  size_t shown = 0;
  for (const std::string& row : rows) {
    if (shown == kShownRows || out.size() + row.size() + 5 > *room) break;
    out += "- " + row + "\n";
    ++shown;
  }
  if (shown < rows.size())
    out += "- and " + std::to_string(rows.size() - shown) + " more (all are in report.json)\n";
  *room -= std::min(*room, out.size());
  return out + "\n";
}

}  // namespace

std::string to_markdown(const SessionReport& report) {
  std::string out = "# Filibuster: " + heading(report) + "\n\n";
  for (const EnvironmentError& error : environment_errors(report)) out += error_markdown(error);
  out += tests_table(report);
  out += failing_markdown(report, kRoom / 2);
  std::vector<std::string> accepted, mended, changed, left, untested;
  for (const TestReport& test : report.tests) {
    for (const Finding& finding : test.findings) {
      if (!finding.fails())
        accepted.push_back(inline_text(to_line(finding)) + " (" + finding.id +
                           "): " + inline_text(standing_text(finding)));
    }
    for (const Drift& drift : test.again.drifts) {
      for (const std::string& what : drift.what) changed.push_back(inline_text(what));
    }
    if (test.time_over && test.counts.executed > 0)
      left.push_back((report.tests.size() > 1 ? inline_text(test.test) + ": " : "") +
                     left_counts(test));
    for (const LeftPlace& place : test.left_places) {
      if (test.time_over) left.push_back(inline_text(left_line(place)));
    }
    for (const auto& [rpc, reason] : test.rpcs.untested)
      untested.push_back(inline_text(rpc) + ": " + inline_text(reason));
  }
  for (const BaselineUse::Row& row : report.baseline.rows) {
    if (row.state == RowState::kNotFound)
      mended.push_back(row.row.finding + " " + inline_text(row.row.what));
  }
  size_t room = kRoom - std::min(kRoom, out.size());
  out += list("Accepted", accepted, &room);
  out += list("Accepted, and not found any more", mended, &room);
  out += list("The application changed during the exploration", changed, &room);
  if (!left.empty() && !report.command_line.empty())
    left.insert(left.begin(), "again, for the rest: " + code(report.command_line));
  out += list("Left when the time was over", left, &room);
  out += list("RPCs that were not tested", untested, &room);
  return out;
}

}  // namespace filibuster
