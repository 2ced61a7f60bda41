// No exception of the JSON library leaves.
#include "daemon/report/counterexample_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/index/index_parts.h"
#include "core/text/base64.h"
#include "core/text/json_depth.h"
#include "daemon/model/fault_json.h"
#include "daemon/model/member_reader.h"
#include "daemon/redact/config_secrets.h"
#include "daemon/redact/redact.h"

namespace filibuster {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

Json part_names(uint32_t parts) {
  Json out = Json::array();
  for (const IndexPartName& part : kIndexPartNames) {
    if ((parts & part.bit) != 0) out.push_back(part.name);
  }
  return out;
}

// Bytes that are not UTF-8 (a test may print anything) become U+FFFD.
std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Error invalid(const std::string& problem) {
  return Error{"counterexample: " + problem + "; run the exploration again to write it anew"};
}

}  // namespace

std::string to_json(const Counterexample& counterexample) {
  Json faults = fault_rows(counterexample.faults);
  redact_texts(&faults);
  Json out = {{"version", kVersion},
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
              {"config_text", redact_config(counterexample.config_text)}};
  out["property"] = counterexample.property.empty()
                        ? Json()
                        : Json::parse(counterexample.property, nullptr, false);
  redact_texts(&out["property"]);
  return dump(out);
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
  MemberReader reader{json, "counterexample", {}};
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
    for (const IndexPartName& part : kIndexPartNames) {
      if (std::find(names.begin(), names.end(), part.name) != names.end()) {
        out.index_parts |= part.bit;
      }
    }
  }
  if (!reader.problem.empty()) return invalid(reader.problem);
  if (const auto property = json.find("property"); property != json.end() && !property->is_null()) {
    if (!property->is_object()) return invalid("property: expected an object");
    out.property = property->dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  const auto faults = json.find("faults");
  if (faults == json.end()) return invalid("faults: expected a list");
  auto read = faults_from(*faults);
  if (!read) return invalid(read.error().message);
  out.faults = std::move(read).value();
  return out;
}

}  // namespace filibuster
