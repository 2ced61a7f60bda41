#include "daemon/verbs/suite/sites.h"

#include <algorithm>
#include <tuple>

#include "daemon/retries/callers.h"

namespace filibuster {
namespace {

void add_row(const SeenCalls& seen, const std::string& site, SuiteTest* test) {
  auto& rows = test->row.sites;
  auto row = std::find_if(rows.begin(), rows.end(),
                          [&](const retries::SiteRow& one) { return one.site == site; });
  if (row == rows.end()) {
    rows.push_back(seen.row);
    rows.back().site = site;
  } else {
    row->calls += seen.row.calls;
    row->attempts = std::max(row->attempts, seen.row.attempts);
    if (!seen.row.grouped_by.empty()) row->grouped_by = seen.row.grouped_by;
  }
}

// The first call that can get a fault stands for its call site. Before it come those that all policies fit, then those that come
// in each execution.
void add_call(const SeenCalls& seen, const std::string& site, SuiteTest* test) {
  if (!seen.call) return;
  const auto [place, added] = test->calls.try_emplace(site, *seen.call);
  const auto order = [](const SuiteCall& call) {
    return std::tuple(call.goes_on, call.sometimes, call.reference.issued_ns);
  };
  if (!added && order(*seen.call) >= order(place->second)) return;
  place->second = *seen.call;
  for (retries::SiteRow& row : test->row.sites) {
    if (row.site != site) continue;
    row.why_not = "";
    row.own_error = seen.row.own_error;
    row.seen = seen.row.seen;
  }
}

}  // namespace

void name_call_sites(std::map<std::string, SuiteTest>* tests) {
  retries::Callers callers;
  for (const auto& [name, test] : *tests) {
    for (const SeenCalls& seen : test.seen) callers.add(seen.frames, seen.kind);
  }
  for (auto& [name, test] : *tests) {
    test.row.sites.clear();
    test.calls.clear();
    for (const SeenCalls& seen : test.seen) {
      const std::string site = callers.site_of(seen.frames);
      add_row(seen, site, &test);
      add_call(seen, site, &test);
    }
    test.seen.clear();
  }
}

}  // namespace filibuster
