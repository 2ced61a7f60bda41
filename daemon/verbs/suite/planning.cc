#include "daemon/verbs/suite/planning.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "daemon/config/policy_names.h"

namespace filibuster {
namespace {

using retries::FaultRow;
using retries::Metric;
using retries::SuiteResults;

// Of a client of which nothing is known: most try three times.
constexpr uint32_t kAssumedAttempts = 3;
// What a silence takes that no hook can end at once, of such a client.
constexpr double kAssumedTimeout = 1;

retries::Reference reference_of(const SuiteResults& results, bool elapsed,
                                const std::map<std::string, SiteKnowledge>& known) {
  retries::Reference out;
  std::map<std::string, uint32_t> numbers;
  for (const retries::SuiteTestRow& test : results.tests) {
    if (!test.left_out.empty()) continue;
    retries::ReferenceTest row;
    row.name = test.name;
    row.seconds = test.seconds;
    for (const retries::SiteRow& site : test.sites) {
      if (!site.why_not.empty()) continue;
      const auto [number, added] =
          numbers.try_emplace(site.site, static_cast<uint32_t>(out.sites.size()));
      if (added) out.sites.push_back(site.site);
      retries::SiteReached reached{number->second, true, std::max(kAssumedAttempts, site.attempts),
                                   elapsed ? 0 : kAssumedTimeout};
      reached.own_error = !site.own_error.empty();
      if (const auto at = known.find(site.site); at != known.end()) {
        reached.retries = at->second.retries.value_or(true);
        if (at->second.attempts > 0) reached.attempts = at->second.attempts;
        if (at->second.silence_seconds >= 0) reached.timeout_seconds = at->second.silence_seconds;
        reached.backoff_seconds = at->second.backoff_seconds;
      }
      row.sites.push_back(reached);
    }
    if (!row.sites.empty()) out.tests.push_back(std::move(row));
  }
  return out;
}

// Call sites that none of the chosen policies fits.
void leave_out_unfitting(const std::vector<retries::Policy>& policies, SuiteResults* results) {
  if (!retries::policies_for(policies, true, true).empty()) return;
  for (retries::SuiteTestRow& test : results->tests) {
    for (retries::SiteRow& site : test.sites) {
      if (site.own_error.empty() || !site.why_not.empty()) continue;
      site.why_not = "its answer is an error without a fault (" + site.own_error +
                     "), so only a policy that keeps requests from the server fits it, such as P3";
      site.own_error.clear();
    }
  }
}

void take_plan(const retries::PlanFile& file, SuiteResults* results) {
  for (const retries::PlanFile::Fault& fault : file.faults) {
    FaultRow row;
    row.test = fault.test;
    row.site = fault.site;
    row.policy = fault.policy;
    row.attempts = fault.attempts;
    row.estimate = fault.seconds;
    results->faults.push_back(std::move(row));
  }
  for (const retries::PlanFile::Untried& pair : file.untried)
    results->untried.push_back({pair.test, pair.site});
  results->metric = file.metric;
  results->why_gap = file.why_gap;
}

// Rows of a file that this suite does not have are taken out and named. The estimate is that of the rows that are left: a file
// may have been cut.
void check_plan(SuiteResults* results) {
  std::set<std::pair<std::string, std::string>> there;
  for (const retries::SuiteTestRow& test : results->tests) {
    for (const retries::SiteRow& site : test.sites) {
      if (test.left_out.empty() && site.why_not.empty()) there.emplace(test.name, site.site);
    }
  }
  std::set<std::string> gone;
  std::erase_if(results->faults, [&](const FaultRow& row) {
    if (there.contains({row.test, row.site})) return false;
    gone.insert("the plan has " + row.site + " in " + row.test + ", which is not there now");
    return true;
  });
  results->estimate_seconds = 0;
  for (const FaultRow& row : results->faults) results->estimate_seconds += row.estimate;
  results->notes.insert(results->notes.end(), gone.begin(), gone.end());
}

}  // namespace

SuitePlanning plan_suite(const SuiteRequest& options, bool elapsed,
                         const std::map<std::string, SiteKnowledge>& known, SuiteResults* results) {
  SuitePlanning out;
  out.policies = options.policies;
  results->estimate_only = options.estimate;
  for (const retries::Policy& policy : options.policies) results->policies.push_back(policy.name);
  const bool is_known = !known.empty();
  results->assumptions = std::string(is_known ? "by what an earlier run has seen of the clients"
                                              : "if every client tries three times") +
                         (elapsed ? ", with silences that are over at once"
                                  : ", with silences of 1 s where nothing is known");
  leave_out_unfitting(options.policies, results);
  const retries::Reference reference = reference_of(*results, elapsed, known);
  if (options.plan) {
    out.file = *options.plan;
    take_plan(*options.plan, results);
    check_plan(results);
    // A plan from elsewhere may have policies that this configuration lacks: it says them itself.
    for (const FaultRow& row : results->faults) {
      const bool has =
          std::any_of(out.policies.begin(), out.policies.end(),
                      [&](const retries::Policy& one) { return one.name == row.policy; });
      if (has) continue;
      auto attempts = parse_fault(row.attempts);
      if (!attempts) continue;  // parse_plan has read it
      out.policies.push_back({row.policy, attempts.value(), true, "of the plan"});
    }
    return out;
  }
  for (const Metric metric : {Metric::kC1, Metric::kC2, Metric::kC3, Metric::kC4}) {
    auto plan = retries::plan_coverage(reference, metric, options.policies);
    if (!plan) {
      out.error = "there is no plan by " + std::string(retries::metric_name(metric)) + ": " +
                  plan.error().message;
      if (metric == options.metric) return out;
      continue;
    }
    std::set<std::pair<uint32_t, uint32_t>> pairs;
    for (const retries::Choice& choice : plan->choices) pairs.emplace(choice.test, choice.site);
    std::vector<retries::PairRow> untried;
    for (const retries::Pair& pair : plan->untried)
      untried.push_back({reference.tests[pair.test].name, reference.sites[pair.site]});
    results->metrics.push_back(
        {metric, plan->choices.size(), pairs.size(), std::move(untried), plan->seconds, plan->gap});
    if (metric != options.metric) continue;
    results->metric = metric;
    results->estimate_seconds = plan->seconds;
    results->why_gap = plan->why_gap;
    out.file = retries::to_file(plan.value(), reference, options.policies);
    take_plan(out.file, results);
  }
  return out;
}

namespace {

// The place of a policy among the faults of a call site. Those of the configuration come after the built-in ones.
size_t rank_of(const std::string& policy) {
  constexpr std::string_view kRanks[] = {"P1-reset", "P3", "P2-reset", "P4", "P1", "P2"};
  static_assert(std::size(kRanks) == std::size(kBuiltInPolicies));
  return static_cast<size_t>(std::ranges::find(kRanks, policy) - std::begin(kRanks));
}

}  // namespace

std::vector<std::vector<size_t>> turns_of_sites(const SuiteResults& results) {
  std::map<std::string, double> seconds;
  for (const retries::SuiteTestRow& test : results.tests) seconds[test.name] = test.seconds;
  std::map<std::string, std::vector<size_t>> rows;  // of the cheapest test, by call site
  for (size_t i = 0; i < results.faults.size(); ++i) {
    const FaultRow& row = results.faults[i];
    std::vector<size_t>& known = rows[row.site];
    const std::string* test = known.empty() ? nullptr : &results.faults[known.front()].test;
    if (test != nullptr && *test != row.test) {
      if (seconds[row.test] >= seconds[*test]) continue;
      known.clear();
    }
    known.push_back(i);
  }
  std::vector<std::vector<size_t>> out;
  for (auto& [site, of] : rows) {
    std::ranges::stable_sort(of, {}, [&](size_t at) { return rank_of(results.faults[at].policy); });
    if (out.size() < of.size()) out.resize(of.size());
    for (size_t turn = 0; turn < of.size(); ++turn) out[turn].push_back(of[turn]);
  }
  for (std::vector<size_t>& turn : out) std::ranges::sort(turn);
  return out;
}

std::string to_json(const std::map<std::string, SiteKnowledge>& sites) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const auto& [site, known] : sites) {
    nlohmann::ordered_json row = {{"call_site", site},
                                  {"attempts", known.attempts},
                                  {"silence_seconds", known.silence_seconds},
                                  {"backoff_seconds", known.backoff_seconds}};
    if (known.retries) row["retries"] = *known.retries;
    rows.push_back(std::move(row));
  }
  return nlohmann::ordered_json{{"version", 1}, {"call_sites", std::move(rows)}}.dump(
             1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

std::map<std::string, SiteKnowledge> parse_sites(const std::string& text) {
  std::map<std::string, SiteKnowledge> out;
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || json.value("version", nlohmann::json()) != 1) return out;
  try {
    for (const auto& row : json.at("call_sites")) {
      SiteKnowledge known;
      known.attempts = row.at("attempts").get<uint32_t>();
      known.silence_seconds = row.at("silence_seconds").get<double>();
      known.backoff_seconds = row.value("backoff_seconds", 0.0);
      if (row.contains("retries")) known.retries = row.at("retries").get<bool>();
      out[row.at("call_site").get<std::string>()] = known;
    }
  } catch (const nlohmann::json::exception&) {
    out.clear();
  }
  return out;
}

}  // namespace filibuster
