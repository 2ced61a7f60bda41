// What the baseline and the time left of a session, in the text for a person.
#include <algorithm>

#include "daemon/redact/redact.h"
#include "daemon/report/results.h"
#include "daemon/report/words.h"

namespace filibuster {
namespace {

constexpr size_t kShown = 10;  // rows of a list; report.json has all of them

std::string rest_of(size_t all) {
  return all <= kShown
             ? ""
             : "    and " + std::to_string(all - kShown) + " more (all are in report.json)\n";
}

}  // namespace

std::string standing_text(const Finding& finding) {
  if (finding.standing == Standing::kNew) return "";
  return "accepted until " + finding.until +
         (finding.standing == Standing::kExpired ? ", which is over" : "") + ": " +
         redact(finding.because);
}

std::string baseline_text(const SessionReport& report) {
  const BaselineUse& use = report.baseline;
  if (use.path.empty()) return "";
  size_t all = 0;
  for (const TestReport& test : report.tests) all += test.findings.size();
  std::string out = "baseline " + use.path + (use.present ? "" : " (the file is not there yet)") +
                    ": " + counted(all, "finding", "findings");
  if (all > 0) {
    const size_t failing = report.failing();
    out += ", " + std::to_string(all - failing) + " accepted, " + std::to_string(failing) +
           (failing == 1 ? " fails" : " fail");
  }
  out += "\n";
  if (report.failing() > 0) {
    out +=
        "  to accept one for a while: filibuster accept NUMBER --because REASON --until "
        "YYYY-MM-DD\n";
  }
  std::vector<std::string> mended;
  for (const BaselineUse::Row& row : use.rows) {
    if (row.state == RowState::kNotFound)
      mended.push_back(row.row.finding + "  " + redact(row.row.what));
  }
  if (mended.empty()) return out;
  out += "  accepted, and not found any more (remove them from the baseline):\n";
  for (size_t i = 0; i < std::min(mended.size(), kShown); ++i) out += "    " + mended[i] + "\n";
  return out + rest_of(mended.size());
}

std::string left_text(const TestReport& test) {
  if (!test.time_over) return "";
  if (test.counts.executed == 0)
    return "  left: all of it, since the time (--max-time) was over before it began\n";
  const auto alone = std::count_if(test.left.begin(), test.left.end(),
                                   [](const LeftFault& left) { return left.alone; });
  std::string out =
      "  left when the time (--max-time) was over: " +
      counted(test.counts.open, "scheduled execution", "scheduled executions") + ", " +
      (alone == 0 ? std::string("no single fault")
                  : counted(static_cast<uint64_t>(alone), "single fault", "single faults")) +
      " among them; the same command goes on with them\n";
  for (size_t i = 0; i < std::min(test.left.size(), kShown); ++i) {
    const LeftFault& left = test.left[i];
    out += "    " + redact(left.rpc) + ": " + left.fault + ", " +
           counted(left.executions, "execution", "executions") + (left.alone ? ", alone too" : "") +
           "\n";
  }
  return out + rest_of(test.left.size());
}

}  // namespace filibuster
