#include "daemon/principled/snippets.h"

#include <algorithm>

#include "daemon/redact/redact.h"
#include "daemon/stubs/choose.h"

namespace filibuster::principled {
namespace {

using Json = nlohmann::json;

// JSON with a blank behind each colon and comma, on one line.
std::string one_line(const Json& json) {
  if (json.is_object()) {
    std::string out = "{";
    for (const auto& [name, value] : json.items())
      out += (out.size() > 1 ? ", " : "") + Json(name).dump() + ": " + one_line(value);
    return out + "}";
  }
  if (json.is_array()) {
    std::string out = "[";
    for (const Json& value : json) out += (out.size() > 1 ? ", " : "") + one_line(value);
    return out + "]";
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string python(const Json& json) {
  if (json.is_boolean()) return json.get<bool>() ? "True" : "False";
  if (json.is_null()) return "None";
  if (json.is_object()) {
    std::string out = "{";
    for (const auto& [name, value] : json.items())
      out += (out.size() > 1 ? ", " : "") + Json(name).dump() + ": " + python(value);
    return out + "}";
  }
  if (json.is_array()) {
    std::string out = "[";
    for (const Json& value : json) out += (out.size() > 1 ? ", " : "") + python(value);
    return out + "]";
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool is_number(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// The words of read_key(), where they say all.
std::optional<std::string> words_of(const Json& key) {
  if (key.is_string()) return key.get<std::string>();
  if (key.size() == 1 && key.contains("grpc")) return key["grpc"].get<std::string>();
  if (key.size() == 2 && key.contains("method") && key.contains("path"))
    return key["method"].get<std::string>() + " " + key["path"].get<std::string>();
  return std::nullopt;
}

std::string raw_cpp(const std::string& json) {
  return "R\"(" + json + ")\"";
}

Json without_secrets(const Json& arguments) {
  const std::string text = arguments.dump(-1, ' ', false, Json::error_handler_t::replace);
  const Json out = Json::parse(redact_object(text), nullptr, false);
  return out.is_discarded() ? Json() : out;
}

// A reference token of a JSON pointer (RFC 6901).
std::string escaped(const std::string& name) {
  std::string out;
  for (const char c : name) out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return out;
}

}  // namespace

bool has_arguments_to_show(const SeenCall& seen) {
  const Json& arguments = seen.call.arguments;
  if (arguments.is_null()) return false;
  const Json shown = without_secrets(arguments);
  if (shown == arguments) return true;
  if (!arguments.is_object() || !shown.is_object()) return false;
  return std::any_of(shown.items().begin(), shown.items().end(), [&](const auto& each) {
    return arguments.contains(each.key()) && arguments[each.key()] == each.value();
  });
}

Json key_json(const SeenCall& seen, KeyChoice choice) {
  Json out = Json::object();
  const stubs::Call& call = seen.call;
  if (call.kind == stubs::Kind::kGrpc) {
    out["grpc"] = method_text(call);
  } else {
    out["method"] = call.method;
    if (!call.path.empty())
      out["path"] = call.kind == stubs::Kind::kHttp && !choice.arguments
                        ? call.path.substr(0, call.path.find('?'))
                        : call.path;
  }
  if (choice.arguments && has_arguments_to_show(seen)) {
    const Json shown = without_secrets(call.arguments);
    if (shown == call.arguments) {
      out["request"] = call.arguments;
    } else {
      for (const auto& [name, value] : shown.items()) {
        if (value == call.arguments[name]) out["fields"]["/" + escaped(name)] = value;
      }
    }
  }
  if (choice.fault) out["fault"] = seen.fault;
  return out;
}

std::string Snippets::text(const std::string& value) const {
  return Json(value).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string Snippets::code_text(const std::string& code) const {
  return is_number(code) ? code : text(code);
}

std::string Snippets::key_text(const Json& key) const {
  const auto words = words_of(key);
  if (form_ == "json") return words ? text(*words) : one_line(key);
  if (form_ == "pytest") {
    if (words) return text(*words);
    std::string out;
    for (const auto& [name, value] : key.items())
      out += (out.empty() ? "" : ", ") + name + "=" + python(value);
    return "key(" + out + ")";
  }
  std::string method = key.value("grpc", "");
  if (method.empty()) method = key.value("method", "") + " " + key.value("path", "");
  std::string out = "rpc(" + text(method) + ")";
  if (key.contains("request"))
    out += ".request(" +
           (form_ == "gtest" ? raw_cpp(key["request"].dump()) : text(key["request"].dump())) + ")";
  if (key.contains("fields"))
    out += ".fields(" +
           (form_ == "gtest" ? raw_cpp(key["fields"].dump()) : text(key["fields"].dump())) + ")";
  if (key.contains("fault")) out += ".fault(" + text(key["fault"].get<std::string>()) + ")";
  return out;
}

std::string Snippets::keys_text(const std::vector<Json>& keys) const {
  if (keys.size() == 1) return key_text(keys.front());
  std::string out;
  for (const Json& key : keys) out += (out.empty() ? "" : ", ") + key_text(key);
  if (form_ == "junit") return "List.of(" + out + ")";
  return form_ == "gtest" ? "{" + out + "}" : "[" + out + "]";
}

std::string Snippets::throws(const std::vector<Json>& keys, const std::string& code,
                             const std::string& message) const {
  const std::string values = code_text(code) + (message.empty() ? "" : ", " + text(message));
  if (form_ == "json")
    return "{\"on\": " + keys_text(keys) + ", \"throws\": " + code_text(code) +
           (message.empty() ? "" : ", \"message\": " + text(message)) + "}";
  if (form_ == "pytest") return "self.assert_fault_throws(" + keys_text(keys) + ", " + values + ")";
  return "assertFaultThrows(" + keys_text(keys) + ", " + values + ");";
}

std::string Snippets::propagates(const Json& key) const {
  if (form_ == "json") return "{\"on\": " + key_text(key) + ", \"propagates\": true}";
  if (form_ == "pytest") return "self.assert_fault_propagates(" + key_text(key) + ")";
  return "assertFaultPropagates(" + key_text(key) + ");";
}

std::string Snippets::no_impact(const Json& key) const {
  if (form_ == "json") return "{\"on\": " + key_text(key) + ", \"no_impact\": true}";
  if (form_ == "pytest") return "self.assert_fault_has_no_impact(" + key_text(key) + ")";
  return "assertFaultHasNoImpact(" + key_text(key) + ");";
}

std::string Snippets::on_fault(const std::vector<Json>& keys) const {
  if (form_ == "json")
    return "{\"on\": " + keys_text(keys) + ", \"assert\": \"COMMAND that checks what holds now\"}";
  if (form_ == "pytest")
    return "self.assert_on_fault(" + keys_text(keys) + ", self.what_holds_now)";
  if (form_ == "junit")
    return "assertOnFault(" + keys_text(keys) + ", () -> {\n    // what holds now\n});";
  return "assertOnFault(" + keys_text(keys) + ", [&] {\n  // what holds now\n});";
}

std::string Snippets::again(const CountSnippet& count) const {
  const std::string key = key_text(count.key);
  const std::string number = count.times ? ", " + std::to_string(*count.times) : "";
  if (form_ == "json")
    return count.times ? "{\"on\": " + key + ", \"times\": " + std::to_string(*count.times) + "}"
                       : key;
  if (form_ == "pytest")
    return (count.times ? "self.side_effecting_rpc(" : "self.read_only_rpc(") + key + number + ")";
  return (count.times ? "sideEffectingRpc(" : "readOnlyRpc(") + key + number + ");";
}

std::string Snippets::on_exception(const std::string& code,
                                   const std::vector<CountSnippet>& counts) const {
  if (form_ == "json") {
    std::string read_only, side_effecting;
    for (const CountSnippet& count : counts) {
      std::string& list = count.times ? side_effecting : read_only;
      list += (list.empty() ? "" : ", ") + again(count);
    }
    return "{\"on_exception\": " + code_text(code) +
           ", \"assert\": \"COMMAND that checks what holds whenever this comes\"" +
           (read_only.empty() ? "" : ",\n \"read_only\": [" + read_only + "]") +
           (side_effecting.empty() ? "" : ",\n \"side_effecting\": [" + side_effecting + "]") + "}";
  }
  const std::string indent = form_ == "gtest" ? "  " : "    ";
  std::string lines;
  for (const CountSnippet& count : counts) lines += indent + again(count) + "\n";
  if (form_ == "pytest") {
    std::string name = code;
    std::transform(name.begin(), name.end(), name.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return "self.assert_on_exception(" + code_text(code) + ", self.on_" + name + ")\n\ndef on_" +
           name + "(self):\n    # what holds whenever this comes\n" + lines;
  }
  const std::string comment = indent + "// what holds whenever this comes\n";
  const std::string opening = form_ == "junit" ? "() -> {\n" : "[&] {\n";
  return "assertOnException(" + code_text(code) + ", " + opening + comment + lines + "});";
}

std::string Snippets::verify(const Json& key, uint64_t times) const {
  const std::string number = std::to_string(times);
  if (form_ == "json") return "{\"on\": " + key_text(key) + ", \"times\": " + number + "}";
  if (form_ == "pytest") return "self.verify_that(" + key_text(key) + ", " + number + ")";
  return "verifyThat(" + key_text(key) + ", " + number + ");";
}

std::string Snippets::stub(const std::string& service, const Json& key) const {
  if (form_ == "json") {
    Json stub = key;
    stub["answer"] = Json::object();
    return one_line(stub);
  }
  if (form_ == "pytest") {
    std::string conditions;
    for (const auto& [name, value] : key.items()) conditions += ", " + name + "=" + python(value);
    return "self.stub_for(" + text(service) + conditions + ", answer={})";
  }
  const std::string end =
      form_ == "junit" ? ", answer().message(\"{}\"));" : ", answer().message(\"{}\"));";
  return "stubFor(" + text(service) + ", " + key_text(key) + end;
}

}  // namespace filibuster::principled
