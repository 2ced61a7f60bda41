// Which calls of which tests get faults: the coverage metrics of retry-aware testing (Rainmaker, NSDI 2023, table 3),
// planned from a reference run. Pure.
//
//   C1  every test, at its first call
//   C2  every call site once, in the cheapest test that reaches it
//   C3  every test and every call site, in pairs, at the least time
//   C4  every call site of every test, at the first call there
//
// Where a call is answered with an error without any fault, fewer policies fit (SiteReached::own_error): C1, C2 and C3 take
// another call if there is one.
//
// A pair (test, call site) costs an execution of the test for each policy, and what the silences of the policy wait. C3
// is an edge cover of least weight in the graph of tests and call sites; pair_cover.h solves it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "daemon/retries/policies.h"

namespace filibuster::retries {

struct SiteReached {
  uint32_t site = 0;           // position in Reference::sites
  bool retries = false;        // the client tries again
  uint32_t attempts = 1;       // how often it is expected to try, with the first
  double timeout_seconds = 0;  // how long it waits for an answer; 0: silences are elapsed at once
  double backoff_seconds = 0;  // what it waits before it tries again, where a fault is no silence
  // The server answers with an error by itself, and the application goes on: policies that keep the requests from the
  // server are left.
  bool own_error = false;
};

struct ReferenceTest {
  std::string name;
  double seconds = 0;              // of its run without faults
  std::vector<SiteReached> sites;  // in order of the first call at each; no site twice
};

struct Reference {
  std::vector<ReferenceTest> tests;  // those that call
  std::vector<std::string> sites;    // "shop.py:31 (pay)"
};

enum class Metric : uint8_t { kC1 = 1, kC2, kC3, kC4 };
std::string_view metric_name(Metric metric);
Result<Metric> parse_metric(std::string_view name);

struct Choice {
  uint32_t test = 0, site = 0;  // positions in the Reference
  std::string policy;
  double seconds = 0;  // estimate
  bool operator==(const Choice&) const = default;
};
struct Pair {
  uint32_t test = 0, site = 0;
  auto operator<=>(const Pair&) const = default;
};

struct CoveragePlan {
  Metric metric = Metric::kC4;
  std::vector<Choice> choices;  // in order of tests, then of their sites, then of policies
  double seconds = 0;           // estimate of all
  std::vector<Pair> untried;    // reached, and not chosen; in order
  // Of C3: by how much the plan may be longer than the best one, as a part of its time; 0: it is the best one.
  double gap = 0;
  std::string why_gap;  // "the solver was stopped after 60 s"
};

struct PlanOptions {
  double solver_seconds = 50;
};

// What an execution of this pair under this policy takes.
double estimate(const ReferenceTest& test, const SiteReached& site, const Policy& policy);

// Error: a test or a site of the reference is out of range, or the solver failed.
Result<CoveragePlan> plan_coverage(const Reference& reference, Metric metric,
                                   const std::vector<Policy>& policies,
                                   const PlanOptions& options = {});

// "27 h 46 min 40.25 s": hours are not cut to a day, and seconds are not rounded beyond the millisecond.
std::string duration_text(double seconds);

}  // namespace filibuster::retries
