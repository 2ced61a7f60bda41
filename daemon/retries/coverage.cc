#include "daemon/retries/coverage.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "daemon/retries/pair_cover.h"

namespace filibuster::retries {
namespace {

constexpr std::string_view kMetrics[] = {"C1", "C2", "C3", "C4"};
// A pair costs something even where a clock says that its test takes no time.
constexpr double kLeastSeconds = 1e-6;
// What the numbers of the solver may differ by although the plan is the best one.
constexpr double kSameCost = 1e-6;

Error out_of_range(const ReferenceTest& test, const char* why) {
  return Error{"the reference run of test '" + test.name + "' " + why};
}

Result<void> check(const Reference& reference) {
  for (const ReferenceTest& test : reference.tests) {
    if (test.sites.empty()) return out_of_range(test, "reaches no call site");
    if (!(test.seconds >= 0) || !std::isfinite(test.seconds))
      return out_of_range(test, "has no duration");
    std::set<uint32_t> seen;
    for (const SiteReached& site : test.sites) {
      if (site.site >= reference.sites.size())
        return out_of_range(test, "names a call site that is not there");
      if (!seen.insert(site.site).second) return out_of_range(test, "names a call site twice");
    }
  }
  return {};
}

class Planner {
 public:
  Planner(const Reference& reference, const std::vector<Policy>& policies)
      : reference_(reference), policies_(policies), whole_(reference.sites.size()) {
    each([&](uint32_t, const SiteReached& site) {
      if (!site.own_error) whole_[site.site] = true;
    });
  }

  double cost(uint32_t test, const SiteReached& site) const {
    double seconds = 0;
    for (const Policy* policy : policies_for(policies_, site.retries, site.own_error))
      seconds += estimate(reference_.tests[test], site, *policy);
    return std::max(seconds, kLeastSeconds);
  }

  // Calls `take` for each pair that is reached.
  template <typename Take>
  void each(Take take) const {
    for (uint32_t t = 0; t < reference_.tests.size(); ++t) {
      for (const SiteReached& site : reference_.tests[t].sites) take(t, site);
    }
  }

  std::set<Pair> first_calls() const {
    std::set<Pair> out;
    for (uint32_t t = 0; t < reference_.tests.size(); ++t) {
      const std::vector<SiteReached>& sites = reference_.tests[t].sites;
      const auto first = std::ranges::find(sites, false, &SiteReached::own_error);
      out.insert({t, first != sites.end() ? first->site : sites.front().site});
    }
    return out;
  }

  std::set<Pair> cheapest_of_sites() const {
    struct Best {
      double seconds = 0;
      uint32_t test = 0;
      bool there = false;
    };
    std::vector<Best> best(reference_.sites.size());
    each([&](uint32_t test, const SiteReached& site) {
      if (is_lesser(site)) return;
      Best& one = best[site.site];
      const double seconds = cost(test, site);
      if (!one.there || seconds < one.seconds) one = {seconds, test, true};
    });
    std::set<Pair> out;
    for (uint32_t s = 0; s < best.size(); ++s) {
      if (best[s].there) out.insert({best[s].test, s});
    }
    return out;
  }

  Result<std::set<Pair>> pairs(double seconds, CoveragePlan* plan) const {
    // Sites that no test reaches are not covered by anything.
    std::vector<uint32_t> number(reference_.sites.size(), UINT32_MAX);
    uint32_t sites = 0;
    std::vector<CoverEdge> edges;
    std::vector<Pair> pair_of;
    each([&](uint32_t test, const SiteReached& site) {
      if (is_lesser(site) && has_other(test)) return;
      uint32_t& n = number[site.site];
      if (n == UINT32_MAX) n = sites++;
      edges.push_back({test, n, cost(test, site)});
      pair_of.push_back({test, site.site});
    });
    auto cover =
        cheapest_cover(static_cast<uint32_t>(reference_.tests.size()), sites, edges, seconds);
    if (!cover) return cover.error();
    const double over = cover->cost - cover->lower_bound;
    if (cover->cost > 0 && over > kSameCost * cover->cost) plan->gap = over / cover->cost;
    if (cover->stopped) plan->why_gap = "the solver was stopped after " + duration_text(seconds);
    std::set<Pair> out;
    for (const size_t e : cover->edges) out.insert(pair_of[e]);
    return out;
  }

  void fill(const std::set<Pair>& chosen, CoveragePlan* plan) const {
    each([&](uint32_t test, const SiteReached& site) {
      if (!chosen.contains({test, site.site})) {
        plan->untried.push_back({test, site.site});
        return;
      }
      for (const Policy* policy : policies_for(policies_, site.retries, site.own_error)) {
        const double seconds = estimate(reference_.tests[test], site, *policy);
        plan->choices.push_back({test, site.site, policy->name, seconds});
        plan->seconds += seconds;
      }
    });
    std::sort(plan->untried.begin(), plan->untried.end());
  }

 private:
  // Another test reaches the call site with a call that can get all policies.
  bool is_lesser(const SiteReached& site) const { return site.own_error && whole_[site.site]; }
  bool has_other(uint32_t test) const {
    return std::ranges::any_of(reference_.tests[test].sites,
                               [&](const SiteReached& site) { return !is_lesser(site); });
  }

  const Reference& reference_;
  const std::vector<Policy>& policies_;
  std::vector<bool> whole_;  // by call site
};

}  // namespace

std::string_view metric_name(Metric metric) {
  return kMetrics[static_cast<size_t>(metric) - 1];
}

Result<Metric> parse_metric(std::string_view name) {
  const auto place = std::find(std::begin(kMetrics), std::end(kMetrics), name);
  if (place == std::end(kMetrics))
    return Error{"there is no coverage metric '" + std::string(name) +
                 "'; there are C1, C2, C3, C4"};
  return static_cast<Metric>(place - std::begin(kMetrics) + 1);
}

double estimate(const ReferenceTest& test, const SiteReached& site, const Policy& policy) {
  const uint32_t attempts = site.retries ? std::max(site.attempts, 1u) : 1;
  return test.seconds + policy.silences(attempts) * std::max(site.timeout_seconds, 0.0) +
         policy.errors(attempts - 1) * std::max(site.backoff_seconds, 0.0);
}

Result<CoveragePlan> plan_coverage(const Reference& reference, Metric metric,
                                   const std::vector<Policy>& policies,
                                   const PlanOptions& options) {
  if (auto checked = check(reference); !checked) return checked.error();
  CoveragePlan plan;
  plan.metric = metric;
  const Planner planner(reference, policies);
  std::set<Pair> chosen;
  switch (metric) {
    case Metric::kC1:
      chosen = planner.first_calls();
      break;
    case Metric::kC2:
      chosen = planner.cheapest_of_sites();
      break;
    case Metric::kC3: {
      auto pairs = planner.pairs(options.solver_seconds, &plan);
      if (!pairs) return pairs.error();
      chosen = std::move(pairs).value();
      break;
    }
    case Metric::kC4:
      planner.each([&](uint32_t test, const SiteReached& site) {
        chosen.insert({test, site.site});
      });
      break;
  }
  planner.fill(chosen, &plan);
  return plan;
}

std::string duration_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "unknown";
  const auto whole_ms = static_cast<uint64_t>(std::llround(seconds * 1000));
  const uint64_t hours = whole_ms / 3'600'000, minutes = whole_ms / 60'000 % 60;
  const double rest = static_cast<double>(whole_ms % 60'000) / 1000;
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", rest);
  std::string out = text;
  out.erase(out.find_last_not_of('0') + 1);
  if (out.ends_with('.')) out.pop_back();
  out += " s";
  if (hours > 0 || minutes > 0) out = std::to_string(minutes) + " min " + out;
  return hours > 0 ? std::to_string(hours) + " h " + out : out;
}

}  // namespace filibuster::retries
