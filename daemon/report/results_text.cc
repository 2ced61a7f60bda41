// What the baseline and the time left of a session, in the text for a person.
#include <algorithm>

#include "daemon/redact/redact.h"
#include "daemon/report/call_site_text.h"
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

std::string left_counts(const TestReport& test) {
  uint64_t singles = 0, pairs = 0, more = 0;
  for (const LeftPlace& place : test.left_places) {
    for (const LeftPlace::Single& one : place.singles) singles += one.executions;
    pairs += place.pairs;
    more += place.more;
  }
  const uint64_t without = test.places.known - std::min(test.places.known, test.places.tried);
  std::string out =
      (without == 0 ? "every place has had a fault"
                    : std::to_string(without) + " of " +
                          counted(test.places.known, "place", "places") + " without any fault") +
      ", " + counted(singles, "single fault", "single faults");
  if (pairs > 0) out += ", " + counted(pairs, "pair", "pairs");
  if (more > 0) out += ", " + counted(more, "larger set of faults", "larger sets of faults");
  return out;
}

std::string left_line(const LeftPlace& place) {
  std::string out = (place.caller.empty() ? "?" : place.caller) + " -> " +
                    (place.service.empty() ? "?" : place.service) +
                    (place.call_site.empty() ? "" : " at " + call_site_text(place.call_site)) +
                    ": ";
  std::string counts, kinds;
  if (place.pairs > 0) counts = counted(place.pairs, "pair", "pairs");
  if (place.more > 0)
    counts += (counts.empty() ? "" : ", ") + std::to_string(place.more) + " with more faults";
  for (const LeftPlace::Single& one : place.singles) {
    kinds += (kinds.empty() ? "" : ", ") + one.fault;
    if (one.executions > 1) kinds += " (" + std::to_string(one.executions) + ")";
  }
  if (!place.tried) out += "no fault yet; ";
  out += counts + (counts.empty() || kinds.empty() ? "" : "; ");
  return redact(out + (kinds.empty() ? "" : "single faults: " + kinds));
}

std::string left_text(const TestReport& test) {
  if (!test.time_over) return "";
  if (test.counts.executed == 0)
    return "  left: all of it, since the time (--max-time) was over before it began\n";
  std::string out = "  left when the time (--max-time) was over: " + left_counts(test) + "\n";
  for (size_t i = 0; i < std::min(test.left_places.size(), kShown); ++i)
    out += "    " + left_line(test.left_places[i]) + "\n";
  return out + rest_of(test.left_places.size());
}

std::string goes_on_text(const SessionReport& report) {
  const bool time_over = std::any_of(report.tests.begin(), report.tests.end(),
                                     [](const TestReport& test) { return test.time_over; });
  if (!time_over) return "";
  return report.command_line.empty() ? "  the same command goes on with what is left\n"
                                     : "  to go on: " + redact(report.command_line) + "\n";
}

}  // namespace filibuster
