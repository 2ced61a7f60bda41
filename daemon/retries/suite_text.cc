// The text for people: what was found, the worst first; then what was left out, and what it took.
#include <algorithm>
#include <cstdio>
#include <map>

#include "core/text/shell_word.h"
#include "daemon/redact/redact.h"
#include "daemon/report/call_site_text.h"
#include "daemon/report/variation.h"
#include "daemon/retries/suite_results.h"

namespace filibuster::retries {
namespace {

constexpr size_t kShown = 20;          // rows of a list; suite.json has all
constexpr size_t kShownAttempts = 10;  // of one call

std::string count(size_t number, std::string_view one, std::string_view many) {
  return std::to_string(number) + " " + std::string(number == 1 ? one : many);
}

std::string percent(double part) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * part);
  return text;
}

template <typename Row, typename Line>
std::string list(const std::vector<Row>& rows, std::string_view title, Line line) {
  std::string out;
  size_t shown = 0;
  for (const Row& row : rows) {
    const std::string text = line(row);
    if (text.empty()) continue;
    if (out.empty()) out = "\n" + std::string(title) + "\n";
    if (++shown > kShown) continue;
    out += "  " + redact(text) + "\n";
  }
  if (shown > kShown) out += "  and " + std::to_string(shown - kShown) + " more\n";
  return out;
}

std::string again_text(const ClusterRow& row) {
  return row.counterexample.empty()
             ? std::string()
             : "; run it again: filibuster replay " + shell_word(row.counterexample);
}

std::string cluster_text(const SuiteResults& results, const ClusterRow& row) {
  const FaultRow& first = results.faults[row.cluster.members.front()];
  std::string out = "\n" + std::to_string(row.number) + ". " +
                    std::string(row.cluster.label.taxonomy == Taxonomy::kNone
                                    ? oracle_name(row.cluster.oracle)
                                    : taxonomy_name(row.cluster.label.taxonomy)) +
                    " at " + call_site_text(first.site) + "\n";
  out += "   found by      " + std::string(oracle_name(row.cluster.oracle)) + ": " +
         redact(first.evidence) + "\n";
  if (!row.cluster.label.evidence.empty())
    out += "   because       " + redact(row.cluster.label.evidence) + "\n";
  out += "   policy        " + first.policy + " (" + first.attempts + ")";
  std::string seen;
  for (size_t i = 0; i < first.seen.size() && i < kShownAttempts; ++i)
    seen += (seen.empty() ? "" : ", ") + first.seen[i];
  if (first.seen.size() > kShownAttempts)
    seen += ", and " + std::to_string(first.seen.size() - kShownAttempts) + " more";
  if (!seen.empty()) out += ", of which came: " + seen;
  out += "\n";
  if (!first.grouped_by.empty())
    out += "   attempts      one call by " + first.grouped_by + "; " +
           (first.retried_by == retried_by_name(RetriedBy::kUnknown)
                ? "who retried is not known (a loop around one place)"
                : "retried by the " + first.retried_by) +
           "\n";
  if (!first.library_says.empty()) out += "                 " + first.library_says + "\n";
  for (size_t i = 0; i < first.calls.size(); ++i)
    out += (i == 0 ? "   calls         " : "                 ") + redact(first.calls[i]) + "\n";
  out += "   test          " + first.test + "\n";
  for (size_t i = 0; i < row.cluster.frames.size() && i < 3; ++i)
    out += (i == 0 ? "   raised at     " : "                 ") +
           call_site_text(row.cluster.frames[i]) + "\n";
  if (row.cluster.members.size() > 1) {
    std::string others;
    for (size_t i = 1; i < row.cluster.members.size() && i < 4; ++i) {
      const FaultRow& other = results.faults[row.cluster.members[i]];
      others += (others.empty() ? "" : "; ") + other.policy + " in " + other.test;
    }
    out += "   also          " + count(row.cluster.members.size() - 1, "execution", "executions") +
           ": " + others + (row.cluster.members.size() > 4 ? "; ..." : "") + "\n";
  }
  out += "   again         ";
  out += row.reproduced ? (*row.reproduced ? "reproduced" : "NOT reproduced by its replay")
                        : "not replayed: " + redact(row.not_replayed);
  return out + again_text(row) + "\n";
}

std::string hung_once_text(const SuiteResults& results, const ClusterRow& row) {
  if (!row.hung_once()) return "";
  const FaultRow& first = results.faults[row.cluster.members.front()];
  return first.policy + " at " + call_site_text(first.site) + " in " + first.test + again_text(row);
}

std::string estimates(const SuiteResults& results) {
  if (results.metrics.empty()) return "";
  double most = 0;
  for (const MetricRow& row : results.metrics) most = std::max(most, row.seconds);
  std::string out = "\nEstimate, by coverage metric (" + results.assumptions + "):\n";
  for (const MetricRow& row : results.metrics) {
    out += "  " + std::string(metric_name(row.metric)) + "  " +
           count(row.executions, "execution", "executions") + " at " +
           count(row.pairs, "call site of a test", "call sites of tests") + ", " +
           duration_text(row.seconds);
    if (row.metric != Metric::kC4 && most > 0)
      out += ", saves " + percent(1 - row.seconds / most) + "; leaves " +
             std::to_string(row.untried.size()) + " untried";
    if (row.gap > 0) out += "; a plan may be shorter by at most " + percent(row.gap);
    out += row.metric == results.metric ? "  (chosen)\n" : "\n";
  }
  return out;
}

}  // namespace

std::string to_text(const SuiteResults& results) {
  std::string out;
  size_t bugs = 0;
  for (const ClusterRow& row : results.clusters) {
    if (row.hung_once()) continue;
    ++bugs;
    out += cluster_text(results, row);
  }
  out += list(results.clusters, "Hung once, and not when it was replayed (no likely bug):",
              [&](const ClusterRow& row) { return hung_once_text(results, row); });
  out += list(results.clients,
              "Waits for an answer for longer than the hang limit, whose end is then a reset:",
              [](const WaitingClient& client) {
                return client.client + ": " + client.waited + "; seen first at " +
                       call_site_text(client.site) + ", in " +
                       count(client.executions, "execution", "executions");
              });
  size_t executed = 0, consistent = 0, unread = 0;
  for (const FaultRow& row : results.faults) {
    executed += row.execution != 0 ? 1 : 0;
    consistent += row.oracle == Oracle::kConsistentException ? 1 : 0;
    unread += row.oracle == Oracle::kUnreadable || row.oracle == Oracle::kTestCode ? 1 : 0;
  }
  out += list(results.faults,
              "Fails in the way of the fault (no bug by itself):", [](const FaultRow& row) {
                return row.oracle != Oracle::kConsistentException
                           ? std::string()
                           : row.policy + " at " + call_site_text(row.site) + " in " + row.test +
                                 ": " + row.evidence;
              });
  out += list(results.faults,
              "Fails, and it is not known whose mistake it is:", [](const FaultRow& row) {
                return row.oracle != Oracle::kUnreadable && row.oracle != Oracle::kTestCode
                           ? std::string()
                           : row.policy + " at " + call_site_text(row.site) + " in " + row.test +
                                 ": " + row.evidence;
              });
  out += list(results.tests, "Tests that were left out:", [](const SuiteTestRow& row) {
    return row.left_out.empty() ? std::string() : row.name + ": " + row.left_out;
  });
  std::vector<std::string> unfaulted;
  for (const SuiteTestRow& test : results.tests) {
    for (const SiteRow& site : test.sites) {
      if (!site.why_not.empty())
        unfaulted.push_back(call_site_text(site.site) + " (" + site.call + ") in " + test.name +
                            ": " + site.why_not);
    }
  }
  out += list(unfaulted,
              "Call sites that get no fault:", [](const std::string& text) { return text; });
  std::vector<std::string> sometimes;
  for (const SuiteTestRow& test : results.tests) {
    for (const SiteRow& site : test.sites) {
      if (!site.seen.empty())
        sometimes.push_back(call_site_text(site.site) + " (" + site.call + ") in " + test.name +
                            ": " + site.seen);
    }
  }
  if (!sometimes.empty()) sometimes.emplace_back(kFreshStart);
  out += list(sometimes, "Calls that come in some executions only:", [](const std::string& text) {
    return text;
  });
  std::map<std::string, size_t> skipped;
  for (const FaultRow& row : results.faults) {
    if (!row.skipped.empty()) ++skipped[row.skipped];
  }
  std::vector<std::string> reasons;
  for (const auto& [reason, times] : skipped)
    reasons.push_back(count(times, "execution: ", "executions: ") + reason);
  out += list(reasons, "Planned, and not concluded:", [](const std::string& text) { return text; });
  out += list(results.faults,
              "Executed more than once (only the last one counts):", [](const FaultRow& row) {
                return row.tries <= 1
                           ? std::string()
                           : row.policy + " at " + call_site_text(row.site) + " in " + row.test +
                                 ": " + count(row.tries, "execution", "executions") + ", since " +
                                 row.tried_again;
              });
  out += list(results.untried,
              "Reached, and left untried by " + std::string(metric_name(results.metric)) + ":",
              [](const PairRow& row) { return call_site_text(row.site) + " in " + row.test; });
  out += list(results.notes, "Notes:", [](const std::string& text) { return text; });
  out += estimates(results);
  if (!results.plan_file.empty()) out += "\nThe plan is in " + results.plan_file + "\n";
  size_t tested = 0;
  for (const SuiteTestRow& row : results.tests) tested += row.left_out.empty() ? 1 : 0;
  out += "\n" + count(results.tests.size(), "test", "tests") + ", of which " +
         std::to_string(tested) + " make calls that get faults";
  if (results.estimate_only) return out + "; nothing was faulted.\n";
  out += "; " + count(executed, "execution", "executions") + " under faults in " +
         duration_text(results.measured_seconds) +
         " (estimate: " + duration_text(results.estimate_seconds) + "), " +
         duration_text(results.replay_seconds) + " for replays.\n" +
         count(bugs, "likely bug", "likely bugs") + ", " +
         count(consistent, "consistent failure", "consistent failures");
  if (unread > 0) out += ", " + count(unread, "failure", "failures") + " of unknown kind";
  return out + ".\n";
}

}  // namespace filibuster::retries
