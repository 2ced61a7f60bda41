#include "daemon/report/again.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/model/test_report.h"
#include "daemon/redact/redact.h"
#include "daemon/report/variation.h"
#include "daemon/report/words.h"

namespace filibuster {
namespace {

constexpr size_t kShown = 10;  // differences; report.json has all of them

// "finding 3, finding 4"
std::string findings_in_doubt(const TestReport& test, const Drift& drift) {
  std::string out;
  for (const std::string& id : drift.findings) {
    const auto finding = std::find_if(test.findings.begin(), test.findings.end(),
                                      [&](const Finding& one) { return one.id == id; });
    const bool numbered = finding != test.findings.end() && finding->number > 0;
    out += (out.empty() ? "" : ", ") + std::string("finding ") +
           (numbered ? std::to_string(finding->number) : id);
  }
  return out;
}

}  // namespace

std::string to_json(const std::vector<Drift>& drifts) {
  nlohmann::json out = nlohmann::json::array();
  for (const Drift& drift : drifts)
    out.push_back({drift.what, drift.after, drift.seen, drift.until});
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::vector<Drift> drifts_from(const std::string& text) {
  std::vector<Drift> out;
  try {
    for (const auto& row : nlohmann::json::parse(text)) {
      Drift drift;
      row.at(0).get_to(drift.what);
      row.at(1).get_to(drift.after);
      row.at(2).get_to(drift.seen);
      row.at(3).get_to(drift.until);
      out.push_back(std::move(drift));
    }
  } catch (const nlohmann::json::exception&) {
    return {};
  }
  return out;
}

std::string drift_text(const TestReport& test) {
  std::string out;
  for (const Drift& drift : test.again.drifts) {
    out += "  the application changed during the exploration; without faults,\n";
    for (size_t i = 0; i < std::min(drift.what.size(), kShown); ++i)
      out += "    " + redact(drift.what[i]) + "\n";
    if (drift.what.size() > kShown)
      out += "    and " + std::to_string(drift.what.size() - kShown) +
             " more (all are in report.json)\n";
    out += "    since execution " + std::to_string(drift.after + 1) + " at the earliest, seen in " +
           std::to_string(drift.seen) +
           (drift.until == 0 ? std::string()
                             : ", and as before again in " + std::to_string(drift.until)) +
           "; " + counted(drift.executions, "execution", "executions") +
           " in that time may not show what stands behind it\n";
    if (const std::string doubted = findings_in_doubt(test, drift); !doubted.empty())
      out += "    in doubt: " + doubted + "\n";
  }
  if (out.empty()) return out;
  return out +
         "    a state may have built up under the faults (a breaker that is open, a list of hosts that are down, a full queue): " +
         std::string(kFreshStart) + "\n";
}

}  // namespace filibuster
