#include "daemon/report/json_rows.h"

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
