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

std::string indented(const std::string& lines, const char* by) {
  std::string out;
  for (size_t at = 0; at < lines.size();) {
    const size_t end = std::min(lines.find('\n', at), lines.size());
    out += by + lines.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return out;
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

// A statement of this name in the idiom of the language.
std::string Snippets::call(std::string_view name, const std::string& arguments) const {
  std::string out = form_ == "pytest" ? "self." : "";
  for (size_t i = 0; i < name.size(); ++i) {
    const bool is_hump = form_ == "junit" && name[i] == '_' && i + 1 < name.size();
    out += is_hump ? static_cast<char>(name[++i] - 'a' + 'A') : name[i];
  }
  return out + "(" + arguments + (form_ == "pytest" ? ")" : ");");
}

// A block of Java or C++ with these lines.
std::string Snippets::block(const std::string& lines) const {
  return form_ == "junit" ? "() -> {\n" + indented(lines, "    ") + "}"
                          : "[this] {\n" + indented(lines, "  ") + "}";
}

std::string Snippets::key_text(const Json& key) const {
  const auto words = words_of(key);
  if (words) return text(*words);
  if (form_ == "json") return one_line(key);
  if (form_ == "pytest") {
    std::string out;
    for (const auto& [name, value] : key.items())
      out += (out.empty() ? "" : ", ") + name + "=" + python(value);
    return "key(" + out + ")";
  }
  const bool is_java = form_ == "junit";
  const auto json_text = [&](const Json& json) {
    return is_java ? text(json.dump()) : raw_cpp(json.dump());
  };
  const std::string path = key.value("path", "");
  std::string out = "rpc(" + text(key.value("grpc", key.value("method", "") + " " + path)) + ")";
  if (is_java && !key.contains("grpc"))
    out = "http(" + text(key.value("method", "")) + ", " + text(path) + ")";
  if (key.contains("request")) out += ".request(" + json_text(key["request"]) + ")";
  if (key.contains("fields") && !is_java) out += ".fields(" + json_text(key["fields"]) + ")";
  if (key.contains("fields") && is_java) {
    for (const auto& [pointer, value] : key["fields"].items())
      out += ".field(" + text(pointer) + ", " + one_line(value) + ")";
  }
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
  return call("assert_fault_throws", keys_text(keys) + ", " + values);
}

std::string Snippets::propagates(const Json& key) const {
  if (form_ == "json") return "{\"on\": " + key_text(key) + ", \"propagates\": true}";
  return call("assert_fault_propagates", key_text(key));
}

std::string Snippets::no_impact(const Json& key) const {
  if (form_ == "json") return "{\"on\": " + key_text(key) + ", \"no_impact\": true}";
  return call("assert_fault_has_no_impact", key_text(key));
}

std::string Snippets::on_fault(const std::vector<Json>& keys) const {
  if (form_ == "json")
    return "{\"on\": " + keys_text(keys) + ", \"assert\": \"COMMAND that checks what holds now\"}";
  if (form_ == "pytest") return call("assert_on_fault", keys_text(keys) + ", self.what_holds_now");
  return call("assert_on_fault", keys_text(keys) + ", " + block("// what holds now\n"));
}

std::string Snippets::again(const CountSnippet& count) const {
  const std::string key = key_text(count.key);
  const std::string number = count.times ? ", " + std::to_string(*count.times) : "";
  if (form_ == "json")
    return count.times ? "{\"on\": " + key + ", \"times\": " + std::to_string(*count.times) + "}"
                       : key;
  return call(count.times ? "side_effecting_rpc" : "read_only_rpc", key + number);
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
  std::string lines;
  for (const CountSnippet& count : counts) lines += again(count) + "\n";
  if (form_ == "pytest") {
    std::string name = code;
    std::transform(name.begin(), name.end(), name.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return call("assert_on_exception", code_text(code) + ", self.on_" + name) + "\n\ndef on_" +
           name + "(self):\n" + indented("# what holds whenever this comes\n" + lines, "    ");
  }
  return call("assert_on_exception",
              code_text(code) + ", " + block("// what holds whenever this comes\n" + lines));
}

std::string Snippets::verify(const Json& key, uint64_t times) const {
  const std::string number = std::to_string(times);
  if (form_ == "json") return "{\"on\": " + key_text(key) + ", \"times\": " + number + "}";
  return call("verify_that", key_text(key) + ", " + number);
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
    return call("stub_for", text(service) + conditions + ", answer={}");
  }
  return call("stub_for", text(service) + ", " + key_text(key) + ", answer().message(\"{}\")");
}

}  // namespace filibuster::principled
