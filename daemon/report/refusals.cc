#include "daemon/report/refusals.h"

#include <nlohmann/json.hpp>

#include "daemon/model/call_name.h"
#include "daemon/model/caller.h"
#include "daemon/redact/redact.h"

namespace filibuster {
namespace {

using Json = nlohmann::ordered_json;

std::string shown_protocol_of(const RpcRecord& rpc) {
  switch (rpc.protocol()) {
    case Protocol::kHttp:
      break;
    case Protocol::kGrpc:
      return "gRPC";
    case Protocol::kRedis:
      return "Redis";
    case Protocol::kSealed:
      return "TLS";
  }
  return (rpc.flags & kRpcHttp2) != 0 ? "HTTP/2" : "HTTP/1.1";
}

}  // namespace

std::string to_note(const Refusals& client) {
  constexpr size_t kNamed = 3;
  const std::vector<std::string>& rpcs = client.never_refused;
  std::string out = "'refused' reached " + client.caller + " -> " + client.service + " (" +
                    client.protocol + ") as a reset only, since the connection was open; what " +
                    client.caller + " does about a refused connection was not tried at ";
  for (size_t i = 0; i < rpcs.size() && i < kNamed; ++i) out += (i == 0 ? "" : ", ") + rpcs[i];
  if (rpcs.size() > kNamed)
    out += " and " + std::to_string(rpcs.size() - kNamed) + " more ('refusals' in report.json)";
  return out;
}

bool RefusalCounts::see(const ExecutionRecord& record) {
  bool any = false;
  for (const RpcRecord& rpc : record.rpcs) {
    if (!rpc.injected || rpc.fault.kind != FaultKind::kRefused) continue;
    const std::string caller = caller_of(rpc);
    Client& client = clients_[{caller, rpc.service, shown_protocol_of(rpc)}];
    const bool as_reset = rpc.refused_as_reset();
    ++(as_reset ? client.reset : client.refused);
    const std::string path = redact(path_of(rpc));  // the name is written to the store
    const std::string name = caller + " -> " + rpc.service + " " + call_name(rpc, path);
    const auto known = client.rpcs.find(name);
    if (known != client.rpcs.end()) {
      known->second = known->second || !as_reset;
    } else if (client.rpcs.size() < kMaxRpcs) {
      client.rpcs.emplace(name, !as_reset);
    }
    any = true;
  }
  return any;
}

std::vector<Refusals> RefusalCounts::all() const {
  std::vector<Refusals> out;
  for (const auto& [key, client] : clients_) {
    out.push_back({key[0], key[1], key[2], client.refused, client.reset, {}});
    for (const auto& [rpc, refused] : client.rpcs) {
      if (!refused) out.back().never_refused.push_back(rpc);
    }
  }
  return out;
}

std::string RefusalCounts::to_json() const {
  Json out = Json::array();
  for (const auto& [key, client] : clients_)
    out.push_back({key, client.refused, client.reset, client.rpcs});
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void RefusalCounts::add_json(std::string_view text) {
  const Json rows = Json::parse(text, nullptr, false);
  if (!rows.is_array()) return;
  try {
    for (const Json& row : rows) {
      const auto key = row.at(0).get<std::vector<std::string>>();
      if (key.size() != 3) continue;
      clients_[key] = {row.at(1), row.at(2), row.at(3).get<std::map<std::string, bool>>()};
    }
  } catch (const Json::exception&) {
    // Another version wrote the text. The rows that were read stay.
  }
}

}  // namespace filibuster
