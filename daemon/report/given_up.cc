#include "daemon/report/given_up.h"

#include <nlohmann/json.hpp>
#include <set>

#include "daemon/model/caller.h"
#include "daemon/report/words.h"

namespace filibuster {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

bool GivenUpCounts::see(const ExecutionRecord& record) {
  std::set<std::string> seen;
  for (const RpcRecord& rpc : record.rpcs) {
    if ((rpc.flags & kRpcAfterGivingUp) == 0) continue;
    const std::string caller = caller_of(rpc);
    ++services_[caller].calls;
    if (seen.insert(caller).second) ++services_[caller].executions;
  }
  return !seen.empty();
}

std::vector<std::string> GivenUpCounts::notes() const {
  std::vector<std::string> out;
  for (const auto& [service, count] : services_) {
    out.push_back(
        service + ": it is not known which request caused " +
        counted(count.calls, "call", "calls") + " in " +
        counted(count.executions, "execution", "executions") +
        ", since a client had given up its request before. The handler of that may go on, and nothing in "
        "this runtime tells its calls from those of other requests");
  }
  return out;
}

std::string GivenUpCounts::to_json() const {
  Json out = Json::array();
  for (const auto& [service, count] : services_)
    out.push_back({service, count.calls, count.executions});
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void GivenUpCounts::add_json(std::string_view text) {
  const Json rows = Json::parse(text, nullptr, false);
  if (!rows.is_array()) return;
  try {
    for (const Json& row : rows) {
      Count& count = services_[row.at(0).get<std::string>()];
      count.calls += row.at(1).get<uint64_t>();
      count.executions += row.at(2).get<uint64_t>();
    }
  } catch (const Json::exception&) {
    // Another version wrote the text. The rows that were read stay.
  }
}

}  // namespace filibuster
