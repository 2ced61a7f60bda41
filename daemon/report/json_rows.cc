#include "daemon/report/json_rows.h"

#include "daemon/report/causes.h"
#include "daemon/suite/failed_tests.h"

namespace filibuster {

using Json = nlohmann::ordered_json;

Json to_rows(const std::vector<FaultCase>& cases) {
  Json out = Json::array();
  for (const FaultCase& row : cases) {
    out.push_back({{"id", row.id},
                   {"name", row.name},
                   {"call_site", row.call_site},
                   {"state", case_state_name(row.state)},
                   {"redundant", row.redundant},
                   {"reason", row.reason},
                   {"findings", row.findings},
                   {"executions", row.executions},
                   {"seconds", row.seconds}});
  }
  return out;
}

Json cause_rows(const std::vector<Finding>& findings) {
  Json out = Json::array();
  for (const FailureCause& cause : causes_of(findings)) {
    const auto ids_of = [&](const std::vector<size_t>& places) {
      Json ids = Json::array();
      for (const size_t place : places) ids.push_back(findings[place].id);
      return ids;
    };
    Json failed = Json::array(), mending = Json::array();
    const Execution& first = findings[cause.findings.front()].minimal_execution;
    for (const suite::FailedTest& one : suite::own_words(first.output).failed)
      failed.push_back({{"test", one.name}, {"place", one.place}, {"said", one.said}});
    for (const CauseMending& one : mendings_of(findings, cause))
      mending.push_back({{"text", to_text(one.mending)}, {"findings", ids_of(one.findings)}});
    out.push_back({{"findings", ids_of(cause.findings)},
                   {"failed", std::move(failed)},
                   {"mending", std::move(mending)}});
  }
  return out;
}

Json to_rows(const std::vector<LeftFault>& left) {
  Json out = Json::array();
  for (const LeftFault& row : left) {
    out.push_back({{"rpc", row.rpc},
                   {"fault", row.fault},
                   {"alone", row.alone},
                   {"executions", row.executions}});
  }
  return out;
}

Json to_rows(const std::vector<LeftPlace>& left) {
  Json out = Json::array();
  for (const LeftPlace& place : left) {
    Json singles = Json::array();
    for (const LeftPlace::Single& one : place.singles)
      singles.push_back({{"fault", one.fault}, {"executions", one.executions}});
    out.push_back({{"caller", place.caller},
                   {"service", place.service},
                   {"call_site", place.call_site},
                   {"tried", place.tried},
                   {"singles", std::move(singles)},
                   {"pairs", place.pairs},
                   {"more", place.more}});
  }
  return out;
}

Json to_row(const BaselineUse& baseline) {
  if (baseline.path.empty()) return nullptr;
  Json rows = Json::array();
  for (const BaselineUse::Row& one : baseline.rows) {
    rows.push_back({{"finding", one.row.finding},
                    {"test", one.row.test},
                    {"what", one.row.what},
                    {"because", one.row.because},
                    {"until", one.row.until},
                    {"state", state_name(one.state)}});
  }
  return {{"file", baseline.path},
          {"present", baseline.present},
          {"day", baseline.day},
          {"accepted", std::move(rows)}};
}

}  // namespace filibuster
