#include "daemon/report/timeouts.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "daemon/model/caller.h"

namespace filibuster {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::string to_line(const Timeouts& client) {
  std::string out = client.caller + " -> " + client.service + ": ";
  if (client.ended_at_once > 0) out += std::to_string(client.ended_at_once) + " ended at once";
  if (client.waited > 0) {
    char longest[32];
    std::snprintf(longest, sizeof longest, "%.1f s", client.longest);
    out += (client.ended_at_once > 0 ? ", " : "") + std::to_string(client.waited) +
           " waited for (the longest " + longest + ")";
  }
  if (client.hang_limit > 0) {
    out += ", " + std::to_string(client.hang_limit) + " of these until the hang limit";
  }
  return out;
}

bool TimeoutCounts::see(const ExecutionRecord& record) {
  bool any = false;
  for (const RpcRecord& rpc : record.rpcs) {
    if (!rpc.injected || rpc.fault.kind != FaultKind::kTimeout || rpc.open) continue;
    Timeouts& client = clients_[{caller_of(rpc), rpc.service}];
    any = true;
    if (rpc.elapsed) {
      ++client.ended_at_once;
      continue;
    }
    ++client.waited;
    client.hang_limit += rpc.hang_limit.is_of_silence() ? 1 : 0;
    if (rpc.finished_ns <= rpc.issued_ns) continue;
    client.longest =
        std::max(client.longest, static_cast<double>(rpc.finished_ns - rpc.issued_ns) / 1e9);
  }
  return any;
}

std::vector<Timeouts> TimeoutCounts::all() const {
  std::vector<Timeouts> out;
  for (const auto& [key, client] : clients_) {
    out.push_back(client);
    out.back().caller = key.first;
    out.back().service = key.second;
  }
  return out;
}

std::string TimeoutCounts::to_json() const {
  Json out = Json::array();
  for (const auto& [key, client] : clients_) {
    out.push_back({key.first, key.second, client.ended_at_once, client.waited, client.hang_limit,
                   client.longest});
  }
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void TimeoutCounts::add_json(std::string_view text) {
  const Json rows = Json::parse(text, nullptr, false);
  if (!rows.is_array()) return;
  try {
    for (const Json& row : rows) {
      Timeouts& client = clients_[{row.at(0), row.at(1)}];
      client.ended_at_once += row.at(2).get<uint64_t>();
      client.waited += row.at(3).get<uint64_t>();
      client.hang_limit += row.at(4).get<uint64_t>();
      client.longest = std::max(client.longest, row.at(5).get<double>());
    }
  } catch (const Json::exception&) {
    // Another version wrote the text. The rows that were read stay.
  }
}

}  // namespace filibuster
