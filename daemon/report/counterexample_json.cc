// No exception of the JSON library leaves.
#include "daemon/report/counterexample_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/text/base64.h"
#include "core/text/json_depth.h"
#include "daemon/agents/call_name.h"
#include "daemon/redact/config_secrets.h"
#include "daemon/redact/redact.h"
#include "daemon/report/shared_rows.h"

namespace filibuster {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

struct PartRow {
  const char* name;
  uint32_t bit;
};
constexpr PartRow kParts[] = {{"payload", kIndexPayload},
                              {"stack", kIndexStack},
                              {"count", kIndexCount},
                              {"path", kIndexPath}};

Json part_names(uint32_t parts) {
  Json out = Json::array();
  for (const PartRow& part : kParts) {
    if ((parts & part.bit) != 0) out.push_back(part.name);
  }
  return out;
}

// Bytes that are not UTF-8 (a test may print anything) become U+FFFD.
std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

struct CounterexampleReader {
  const Json& object;
  const char* what;
  std::string problem;  // the first one

  void fail(const char* name, const char* expected) {
    if (problem.empty()) problem = std::string(what) + "." + name + ": expected " + expected;
  }
  void text(const char* name, std::string* out) {
    const auto at = object.find(name);
    if (at == object.end() || !at->is_string()) return fail(name, "a text");
    *out = at->get<std::string>();
  }
  void texts(const char* name, std::vector<std::string>* out) {
    const auto at = object.find(name);
    if (at == object.end() || !at->is_array()) return fail(name, "a list of texts");
    for (const Json& one : *at) {
      if (!one.is_string()) return fail(name, "a list of texts");
      out->push_back(one.get<std::string>());
    }
  }
  // Reads a member that older files do not have.
  void later_text(const char* name, std::string* out) {
    if (object.contains(name)) text(name, out);
  }
  void later_ports(const char* name, std::map<std::string, uint16_t>* out) {
    constexpr uint64_t kLastPort = 65535;
    const auto at = object.find(name);
    if (at == object.end()) return;
    if (!at->is_object()) return fail(name, "names with port numbers");
    for (const auto& [port, number] : at->items()) {
      if (!number.is_number_unsigned() || number.get<uint64_t>() > kLastPort) {
        return fail(name, "names with port numbers");
      }
      out->emplace(port, number.get<uint16_t>());
    }
  }
  void hash(const char* name, Hash128* out) {
    std::string digits;
    text(name, &digits);
    if (!digits.empty() && !from_hex(digits, out)) fail(name, "32 hexadecimal digits");
  }
  void number(const char* name, uint32_t* out) {
    const auto at = object.find(name);
    if (at == object.end() || !at->is_number_unsigned()) return fail(name, "a number");
    *out = at->get<uint32_t>();
  }
};

std::string read_fault(const Json& json, InjectedFault* out) {
  if (!json.is_object()) return "faults: expected a list of objects";
  CounterexampleReader reader{json, "faults", {}};
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

Error invalid(const std::string& problem) {
  return Error{"counterexample: " + problem + "; run the exploration again to write it anew"};
}

}  // namespace

std::string to_json(const Counterexample& counterexample) {
  Json faults = fault_rows(counterexample.faults);
  redact_texts(&faults);
  return dump({{"version", kVersion},
               {"test", counterexample.test},
               {"config_path", counterexample.config_path},
               {"directory", counterexample.directory},
               {"verdict", counterexample.verdict},
               {"detail", redact(counterexample.detail)},
               {"index_parts", part_names(counterexample.index_parts)},
               {"nondeterminism", redacted_masks(counterexample.nondeterminism)},
               {"descriptors", to_base64(counterexample.descriptors)},
               {"ports", counterexample.ports},
               {"hang_limit_ms", counterexample.hang_limit_ms},
               {"faults", std::move(faults)},
               {"output", redact(counterexample.output)},
               {"seen", counterexample.seen},
               // A replay takes the redacted values from the configuration's file.
               {"config_text", redact_config(counterexample.config_text)}});
}

Result<Counterexample> parse_counterexample(std::string_view text) {
  if (is_nested_too_deep(text)) return invalid("it is nested too deep");
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return invalid("it is not valid JSON");
  if (!json.is_object()) return invalid("expected an object");
  const auto version = json.find("version");
  if (version == json.end() || !version->is_number_integer()) return invalid("it has no version");
  if (*version != kVersion) {
    return Error{"counterexample: it has version " + version->dump() + ", this program reads " +
                 std::to_string(kVersion) + "; use the program that wrote it"};
  }
  Counterexample out;
  CounterexampleReader reader{json, "counterexample", {}};
  reader.text("test", &out.test);
  reader.text("config_path", &out.config_path);
  reader.text("directory", &out.directory);
  reader.text("verdict", &out.verdict);
  reader.text("detail", &out.detail);
  reader.text("output", &out.output);
  if (json.contains("seen")) reader.texts("seen", &out.seen);
  reader.text("config_text", &out.config_text);
  reader.later_ports("ports", &out.ports);
  if (json.contains("hang_limit_ms")) reader.number("hang_limit_ms", &out.hang_limit_ms);
  std::string descriptors;
  reader.later_text("descriptors", &descriptors);
  if (auto bytes = from_base64(descriptors)) {
    out.descriptors = std::move(*bytes);
  } else {
    reader.fail("descriptors", "base64");
  }
  // For an older file, which has no masks, a replay uses those of the configuration.
  out.nondeterminism = json.contains("nondeterminism") ? json["nondeterminism"].dump() : "";
  if (json.contains("index_parts")) {
    std::vector<std::string> names;
    reader.texts("index_parts", &names);
    out.index_parts = 0;
    for (const PartRow& part : kParts) {
      if (std::find(names.begin(), names.end(), part.name) != names.end()) {
        out.index_parts |= part.bit;
      }
    }
  }
  if (!reader.problem.empty()) return invalid(reader.problem);
  const auto faults = json.find("faults");
  if (faults == json.end() || !faults->is_array()) return invalid("faults: expected a list");
  for (const Json& one : *faults) {
    out.faults.emplace_back();
    if (auto problem = read_fault(one, &out.faults.back()); !problem.empty()) {
      return invalid(problem);
    }
  }
  return out;
}

}  // namespace filibuster
