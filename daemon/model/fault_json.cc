#include "daemon/model/fault_json.h"

#include <nlohmann/json.hpp>

#include "daemon/model/call_name.h"
#include "daemon/model/member_reader.h"
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

std::string read_fault(const Json& json, InjectedFault* out) {
  if (!json.is_object()) return "faults: expected a list of objects";
  MemberReader reader{json, "faults", {}};
  reader.text("fault", &out->fault);
  reader.text("caller", &out->caller);
  reader.text("service", &out->service);
  reader.text("method", &out->method);
  reader.text("path", &out->path);
  reader.later_text("query", &out->query);
  reader.later_text("key", &out->key);
  reader.later_text("message", &out->message);
  reader.later_text("answer", &out->answer);
  std::string delivered_as;
  reader.later_text("delivered_as", &delivered_as);
  out->as_reset = delivered_as == "reset";
  std::string grpc, protocol;
  reader.later_text("grpc", &grpc);
  reader.later_text("protocol", &protocol);
  // Older files have no "protocol".
  out->protocol = grpc.empty() ? Protocol::kHttp : Protocol::kGrpc;
  if (const auto known = parse_protocol(protocol)) out->protocol = *known;
  if (const auto at = json.find("arguments"); at != json.end() && at->is_object())
    out->arguments = at->dump();
  reader.number("count", &out->count);
  reader.text("call_site", &out->call_site);
  reader.texts("stack", &out->stack);
  reader.texts("service_path", &out->service_path);
  reader.hash("index", &out->index);
  reader.hash("parent", &out->parent);
  reader.hash("signature", &out->signature);
  reader.hash("connect_key", &out->connect_key);
  if (json.contains("stack_hash")) {  // without it (an older file) nothing is refused at connect
    reader.hash("stack_hash", &out->stack_hash);
    reader.number("number", &out->number);
    reader.number("service_number", &out->service_number);
  }
  if (json.contains("identity")) {  // without it (an older file) the RPC is not found after an edit
    reader.hash("identity", &out->stable.identity);
    reader.number("alike", &out->stable.alike);
  }
  if (reader.problem.empty() && out->index.is_zero()) reader.fail("index", "an index");
  return reader.problem;
}

}  // namespace

nlohmann::ordered_json fault_rows(const std::vector<InjectedFault>& faults) {
  Json out = Json::array();
  for (const InjectedFault& fault : faults) out.push_back(fault_row(fault));
  return out;
}

Result<std::vector<InjectedFault>> faults_from(const nlohmann::ordered_json& rows) {
  if (!rows.is_array()) return Error{"faults: expected a list"};
  std::vector<InjectedFault> out;
  for (const Json& row : rows) {
    out.emplace_back();
    if (auto problem = read_fault(row, &out.back()); !problem.empty()) return Error{problem};
  }
  return out;
}

}  // namespace filibuster
