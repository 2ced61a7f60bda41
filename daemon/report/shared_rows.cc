#include "daemon/report/shared_rows.h"

#include <algorithm>

#include "daemon/agents/call_name.h"
#include "daemon/redact/redact.h"

namespace filibuster {
namespace {

using Json = nlohmann::ordered_json;

Json hash(Hash128 value) {
  return value.is_zero() ? Json("") : Json(to_hex(value));
}

Json attempts_row(const std::vector<AttemptSeen>& attempts) {
  Json out = Json::array();
  for (const AttemptSeen& one : attempts)
    out.push_back(
        {{"number", one.number}, {"outcome", one.outcome}, {"grouped_by", one.grouped_by}});
  return out;
}

Json fault_row(const InjectedFault& fault) {
  return {{"fault", fault.fault},
          {"key", fault.key},
          {"message", fault.message},
          {"answer", fault.answer},
          {"delivered_as", fault.as_reset ? "reset" : ""},
          {"attempts", attempts_row(fault.attempts)},
          {"caller", fault.caller},
          {"service", fault.service},
          {"method", fault.method},
          {"path", fault.path},
          {"query", redact(fault.query)},
          {"protocol", protocol_name(fault.protocol)},
          {"grpc", grpc_name(fault.method, fault.path, fault.protocol)},
          {"arguments", Json::parse(redact_object(fault.arguments))},
          {"count", fault.count},
          {"call_site", fault.call_site},
          {"stack", fault.stack},
          {"service_path", fault.service_path},
          {"index", hash(fault.index)},
          {"parent", hash(fault.parent)},
          {"signature", hash(fault.signature)},
          {"connect_key", hash(fault.connect_key)},
          {"stack_hash", hash(fault.stack_hash)},
          {"number", fault.number},
          {"service_number", fault.service_number},
          {"identity", hash(fault.stable.identity)},
          {"alike", fault.stable.alike}};
}

}  // namespace

nlohmann::ordered_json fault_rows(const std::vector<InjectedFault>& faults) {
  Json out = Json::array();
  for (const InjectedFault& fault : faults) out.push_back(fault_row(fault));
  return out;
}

nlohmann::ordered_json redacted_masks(const std::string& text) {
  Json masks = Json::parse(text, nullptr, false);
  if (!masks.is_array()) return Json::array();
  for (Json& mask : masks) {
    if (!mask.is_object() || !mask.contains("on") || !mask["on"].is_object()) continue;
    const auto path = mask["on"].find("path");
    if (path == mask["on"].end() || !path->is_string()) continue;
    std::string shown = redact(path->get<std::string>());
    for (size_t at; (at = shown.find(kRedacted)) != std::string::npos;) {
      const size_t begin = shown.rfind('/', at) + 1;  // 0 if there is no '/'
      shown.replace(begin, std::min(shown.find('/', at), shown.size()) - begin, "*");
    }
    *path = std::move(shown);
  }
  return masks;
}

}  // namespace filibuster
