#include "daemon/report/observed.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/model/call_name.h"
#include "daemon/redact/redact.h"

namespace filibuster {
namespace {

using Json = nlohmann::ordered_json;

// Redacted here already, since the rows are written to the store, too.
std::string shown_path_of(const RpcRecord& rpc) {
  return redact(path_of(rpc));
}

bool is_error_of_grpc(const RpcRecord& rpc) {
  return rpc.is_grpc() && rpc.grpc_status != kNoGrpcStatus && rpc.grpc_status != 0;
}

// The error that the service answered with by itself; "" if there was no answer, the answer was no
// error, or the answer was injected.
std::string own_error(const RpcRecord& rpc) {
  if (rpc.injected || !rpc.answered()) return "";
  if (is_error_of_grpc(rpc)) {
    // With another HTTP status (0: there was no answer) the gRPC status is the client's conclusion and
    // not the service's answer.
    return rpc.status == 200 ? "grpc:" + std::string(grpc_status_name(rpc)) : "";
  }
  if (rpc.code_space == CodeSpace::kRedis) return "redis:" + rpc.code;
  return rpc.status >= 400 && rpc.status <= 599 ? "status:" + std::to_string(rpc.status) : "";
}

std::string key_of(const ObservedAnswer& row) {
  return row.service + '\0' + row.path + '\0' + row.method + '\0' + row.answer;
}

}  // namespace

bool ObservedAnswers::see(const ExecutionRecord& record) {
  bool any_new = false;
  for (const RpcRecord& rpc : record.rpcs) {
    std::string answer = own_error(rpc);
    if (answer.empty() || full()) continue;
    ObservedAnswer row{rpc.service,    rpc.method,        shown_path_of(rpc),
                       rpc.protocol(), std::move(answer), {}};
    const auto [place, is_new] = rows_.emplace(key_of(row), row);
    if (!is_new) continue;
    any_new = true;
    for (const RpcRecord& asked : record.rpcs) {
      if (rpc.index.is_zero() || asked.parent != rpc.index) continue;
      if (!asked.injected && !asked.failed()) continue;
      FailedCall call{asked.service, asked.method, shown_path_of(asked),
                      asked.injected ? to_text(asked.fault) : redact(ending_name(asked)),
                      asked.injected};
      std::vector<FailedCall>& under = place->second.under;
      constexpr size_t kMaxCalls = 8;
      if (under.size() < kMaxCalls && std::find(under.begin(), under.end(), call) == under.end())
        under.push_back(std::move(call));
    }
  }
  return any_new;
}

std::vector<ObservedAnswer> ObservedAnswers::all() const {
  std::vector<ObservedAnswer> out;
  for (const auto& [key, row] : rows_) out.push_back(row);
  return out;
}

std::string ObservedAnswers::to_json() const {
  Json out = Json::array();
  for (const auto& [key, row] : rows_) {
    Json under = Json::array();
    for (const FailedCall& call : row.under)
      under.push_back({call.service, call.method, call.path, call.what, call.injected});
    out.push_back({row.service, row.method, row.path, protocol_name(row.protocol), row.answer,
                   std::move(under)});
  }
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void ObservedAnswers::add_json(std::string_view text) {
  const Json rows = Json::parse(text, nullptr, false);
  if (!rows.is_array()) return;
  try {
    for (const Json& one : rows) {
      const auto protocol = parse_protocol(one.at(3).get<std::string>());
      ObservedAnswer row{one.at(0), one.at(1), one.at(2), protocol.value_or(Protocol::kHttp),
                         one.at(4), {}};
      for (const Json& call : one.at(5))
        row.under.push_back({call.at(0), call.at(1), call.at(2), call.at(3), call.at(4)});
      std::string key = key_of(row);
      rows_.emplace(std::move(key), std::move(row));
    }
  } catch (const Json::exception&) {
    // Another version wrote the text. The rows that were read stay.
  }
}

}  // namespace filibuster
