// coverage_bench [--seconds N]
// The plan of the coverage metric C3 for 10,000 tests, 2,000 call sites and 200,000 pairs, once where a pair costs what
// its test takes (many equal costs), and once where waits differ by pair. Exit 1 if a bound is not met: 60 s, 2 GiB, and
// the best plan (no gap).
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>
#include <string_view>

#include "daemon/retries/coverage.h"

namespace {

using namespace filibuster::retries;

constexpr uint32_t kTests = 10'000, kSites = 2'000;
constexpr size_t kPairs = 200'000;
constexpr double kMostSeconds = 60, kMostMiB = 2048;

Reference application(bool waits) {
  std::mt19937 random(1);
  Reference out;
  for (uint32_t s = 0; s < kSites; ++s) out.sites.push_back("site " + std::to_string(s));
  std::set<std::pair<uint32_t, uint32_t>> pairs;
  for (uint32_t t = 0; t < kTests; ++t) pairs.emplace(t, random() % kSites);
  for (uint32_t s = 0; s < kSites; ++s) pairs.emplace(random() % kTests, s);
  while (pairs.size() < kPairs) pairs.emplace(random() % kTests, random() % kSites);
  for (uint32_t t = 0; t < kTests; ++t)
    out.tests.push_back(
        {"test " + std::to_string(t), 0.05 + static_cast<double>(random() % 100'000) / 10'000, {}});
  for (const auto& [test, site] : pairs) {
    out.tests[test].sites.push_back(
        {.site = site,
         .retries = true,
         .attempts = 3,
         .timeout_seconds = waits ? static_cast<double>(random() % 1000) / 1000 : 0});
  }
  return out;
}

bool plan(const char* name, bool waits, double seconds) {
  const Reference reference = application(waits);
  const auto began = std::chrono::steady_clock::now();
  const auto made =
      plan_coverage(reference, Metric::kC3, all_policies({}), {.solver_seconds = seconds});
  const double took =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  if (!made.ok()) {
    std::printf("%s: %s\n", name, made.error().message.c_str());
    return false;
  }
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const double mib = static_cast<double>(used.ru_maxrss) / 1024;
  const CoveragePlan& best = made.value();
  std::printf("%s: %.1f s, %.0f MiB, %zu faults of %s, gap %.6f %s\n", name, took, mib,
              best.choices.size(), duration_text(best.seconds).c_str(), best.gap,
              best.why_gap.c_str());
  const bool met = took <= kMostSeconds && mib <= kMostMiB && best.gap == 0;
  if (!met)
    std::printf("missed: at most %.0f s and %.0f MiB, without a gap\n", kMostSeconds, kMostMiB);
  return met;
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = 50;
  if (argc == 3 && std::string_view(argv[1]) == "--seconds") seconds = std::atof(argv[2]);
  const bool equal = plan("C3, equal waits", false, seconds);
  const bool different = plan("C3, waits by pair", true, seconds);
  return equal && different ? 0 : 1;
}
