#include "daemon/lint/lint.h"

#include <algorithm>
#include <array>

#include "daemon/lint/passive.h"
#include "daemon/lint/record_view.h"

namespace filibuster::lint {
namespace {

constexpr std::array<std::string_view, 3> kSeverities = {"note", "warning", "error"};

// In the order of `Lint`, which is the order of a report.
constexpr LintRow kLints[] = {
    {Lint::kNoTimeout, "no-timeout", Severity::kError, "a caller waits without end for an answer",
     "Give the call a timeout: one service that is silent holds up every service in front of it."},
    {Lint::kRetryWithoutBackoff, "retry-without-backoff", Severity::kWarning,
     "a failed request is sent again at once, several times",
     "Wait longer before each retry, with some randomness: retries that come at once keep a "
     "service down that is about to recover."},
    {Lint::kNPlusOne, "n-plus-one", Severity::kWarning,
     "one call site is called once for each element of a list",
     "Ask for all elements with one request; each further element costs a round trip and is one "
     "more request that can fail."},
    {Lint::kRedundantRpc, "redundant-rpc", Severity::kWarning,
     "a service sends the same request twice for one incoming request",
     "Keep the first answer; if the second request changes something, it may do so twice."},
    {Lint::kRedundantAcrossServices, "redundant-across-services", Severity::kWarning,
     "several services send the same request in one execution",
     "Let one service ask and pass the answer on."},
    {Lint::kCallChain, "call-chain", Severity::kWarning,
     "a service is asked only for what the next request needs",
     "One call could do: the first service can ask the second, or the second take what the first "
     "is asked with."},
    {Lint::kUnknownCause, "unknown-cause", Severity::kWarning,
     "requests that no incoming request is known to have caused",
     "These requests are never faulted. A background task is fine; a request that serves another "
     "one needs a cause: forward the x-filibuster field, or see docs/lint.md."},
    {Lint::kForwardedResponse, "forwarded-response", Severity::kNote,
     "data of an answer goes straight into the next request",
     "Check that the data is valid before it is used: an answer that is wrong or missing spreads "
     "from here."},
};

}  // namespace

std::string_view severity_name(Severity severity) {
  return kSeverities[static_cast<size_t>(severity)];
}

std::optional<Severity> parse_severity(std::string_view name) {
  const auto at = std::find(kSeverities.begin(), kSeverities.end(), name);
  if (at == kSeverities.end()) return std::nullopt;
  return static_cast<Severity>(at - kSeverities.begin());
}

std::span<const LintRow> lints() {
  return kLints;
}
const LintRow& row_of(Lint lint) {
  return kLints[static_cast<size_t>(lint)];
}

const LintRow* find_lint(std::string_view name) {
  const auto* const at = std::find_if(std::begin(kLints), std::end(kLints),
                                      [&](const LintRow& row) { return row.name == name; });
  return at == std::end(kLints) ? nullptr : at;
}

std::vector<CallSite> call_sites(const ExecutionRecord& record) {
  std::vector<CallSite> out;
  std::unordered_map<std::string, size_t> places;
  for (const RpcRecord& rpc : record.rpcs) {
    if (!is_of_this_execution(rpc)) continue;
    const auto [place, added] = places.emplace(site_key(rpc), out.size());
    if (added) {
      CallSite site;
      site.first = describe_call(rpc);
      out.push_back(std::move(site));
    }
    ++out[place->second].rpcs;
  }
  return out;
}

std::vector<Finding> lint_reference(const ExecutionRecord& record) {
  const RecordView view(record);
  std::vector<Finding> out;
  for (const auto lint : {redundant_rpcs, redundant_across_services, forwarded_responses,
                          n_plus_one, unknown_causes}) {
    for (Finding& finding : lint(view)) out.push_back(std::move(finding));
  }
  return out;
}

void choose(const Options& options, std::vector<Finding>* findings) {
  std::erase_if(*findings, [&](const Finding& finding) {
    return finding.severity < options.least || options.without.contains(finding.lint);
  });
  std::stable_sort(findings->begin(), findings->end(), [](const Finding& a, const Finding& b) {
    if (a.severity != b.severity) return a.severity > b.severity;
    return a.lint < b.lint;
  });
}

}  // namespace filibuster::lint
