#include "daemon/property/http_commands.h"

#include <algorithm>
#include <charconv>

#include "daemon/property/history.h"
#include "daemon/property/json_pointer.h"

namespace filibuster::property {
namespace {

using Json = nlohmann::json;

constexpr size_t kQuoted = 200;  // bytes of an answer in a reason

Result<Json> member(std::string_view name, const Json& value, const std::string& process) {
  if (name == "process") return Json(process);
  if (value.is_object()) {
    if (const auto found = value.find(std::string(name)); found != value.end()) return *found;
  }
  if (name == "value") return value;
  return Error{"there is no '" + std::string(name) + "' in the value " + json_text(value) +
               ", which ${" + std::string(name) + "} stands for"};
}

// RFC 3986: all but unreserved characters.
std::string percent_encoded(std::string_view text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_letter = (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
    const bool is_unreserved =
        is_letter || (byte >= '0' && byte <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
    out += is_unreserved ? std::string(1, c) : std::string{'%', kHex[byte >> 4], kHex[byte & 15]};
  }
  return out;
}

// What a command says of a status, or of its class; nullptr: nothing.
const Json* said_of(int status, const Json& command) {
  const auto statuses = command.find("statuses");
  if (statuses == command.end()) return nullptr;
  const std::string text = std::to_string(status);
  for (const std::string& key : {text, text.substr(0, 1) + "xx"}) {
    if (const auto found = statuses->find(key); found != statuses->end()) return &*found;
  }
  return nullptr;
}

std::string quoted(int status, const std::string& body) {
  return std::to_string(status) + (body.empty() ? "" : ": " + body.substr(0, kQuoted));
}

// RFC 6901. nullptr: there is nothing. (The library's own throws where a number is too large to be the place of an element.)
const Json* at_pointer(const Json& json, std::string_view pointer) {
  const Json* at = &json;
  for (const std::string& name : pointer_names(pointer)) {
    if (at->is_object()) {
      const auto found = at->find(name);
      if (found == at->end()) return nullptr;
      at = &*found;
      continue;
    }
    if (!at->is_array()) return nullptr;
    size_t place = 0;
    const char* const last = name.data() + name.size();
    const auto [read, error] = std::from_chars(name.data(), last, place);
    if (error != std::errc() || read != last || place >= at->size()) return nullptr;
    at = &(*at)[place];
  }
  return at;
}

// The value of an answer. Error: it is none that was configured.
Result<Json> value_of(const Json& answer, int status, const std::string& body) {
  if (answer.is_null()) return Json();
  if (answer.is_object()) return answer["value"];
  const auto& what = answer.get_ref<const std::string&>();
  if (what == "status") return Json(status);
  if (what == "text") return Json(body);
  const Json json = is_too_deep(body) ? Json(Json::value_t::discarded)
                                      : Json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return Error{"the answer is no JSON: " + body.substr(0, kQuoted)};
  if (what == "json") return json;
  if (const Json* const found = at_pointer(json, what)) return *found;
  return Error{"the answer has nothing at " + what + ": " + body.substr(0, kQuoted)};
}

bool has_field(const std::vector<std::pair<std::string, std::string>>& headers,
               std::string_view name) {
  const auto is_alike = [](char a, char b) { return (a | 0x20) == (b | 0x20); };
  return std::any_of(headers.begin(), headers.end(), [&](const auto& field) {
    return std::equal(field.first.begin(), field.first.end(), name.begin(), name.end(), is_alike);
  });
}

}  // namespace

Result<std::string> filled_text(std::string_view text, const Json& value,
                                const std::string& process, bool encoded) {
  std::string out;
  while (true) {
    const size_t at = text.find("${");
    const size_t end = at == std::string_view::npos ? at : text.find('}', at);
    if (end == std::string_view::npos) return out += text;
    const auto part = member(text.substr(at + 2, end - at - 2), value, process);
    if (!part) return part.error();
    const std::string filling =
        part->is_string() ? part->get<std::string>() : json_text(part.value());
    out += text.substr(0, at);
    out += encoded ? percent_encoded(filling) : filling;
    text.remove_prefix(end + 1);
  }
}

Result<Json> filled_json(const Json& json, const Json& value, const std::string& process) {
  if (json.is_string()) {
    const auto& text = json.get_ref<const std::string&>();
    // Whole, and no other one begins in it.
    if (text.starts_with("${") && text.find('}') + 1 == text.size())
      return member(std::string_view(text).substr(2, text.size() - 3), value, process);
    auto filled = filled_text(text, value, process, false);
    if (!filled) return filled.error();
    return Json(std::move(filled).value());
  }
  if (!json.is_structured()) return json;
  Json out = json.is_array() ? Json::array() : Json::object();
  for (const auto& [name, part] : json.items()) {
    auto filled = filled_json(part, value, process);
    if (!filled) return filled;
    if (json.is_array()) {
      out.push_back(std::move(filled).value());
      continue;
    }
    auto key = filled_text(name, value, process, false);
    if (!key) return key.error();
    out[key.value()] = std::move(filled).value();
  }
  return out;
}

HttpCommand::HttpCommand(Json json, const Json& headers, bool reads)
    : json_(std::move(json)), reads_(reads) {
  const Json own = json_.value("headers", Json::object());
  for (const auto& [name, text] : headers.items()) {
    if (!own.contains(name)) headers_.emplace_back(name, text.get<std::string>());
  }
  for (const auto& [name, text] : own.items()) headers_.emplace_back(name, text.get<std::string>());
}

Result<HttpRequest> HttpCommand::request(const Json& value, const std::string& process) const {
  HttpRequest out;
  out.method = json_["method"].get<std::string>();
  auto path = filled_text(json_["path"].get<std::string>(), value, process, true);
  if (!path) return path.error();
  out.path = std::move(path).value();
  for (const auto& [name, text] : headers_) {
    auto filled = filled_text(text, value, process, false);
    if (!filled) return filled.error();
    const bool ends_line = std::any_of(filled->begin(), filled->end(),
                                       [](unsigned char c) { return c < 0x20 || c == 0x7f; });
    if (ends_line)
      return Error{"the header field '" + name + "' cannot have the value " +
                   json_text(filled.value())};
    out.headers.emplace_back(name, std::move(filled).value());
  }
  const char* type = nullptr;
  if (const auto body = json_.find("body"); body != json_.end()) {
    auto filled = filled_json(*body, value, process);
    if (!filled) return filled.error();
    out.body = json_text(filled.value());
    type = "application/json";
  } else if (const auto text = json_.find("text"); text != json_.end()) {
    auto filled = filled_text(text->get<std::string>(), value, process, false);
    if (!filled) return filled.error();
    out.body = std::move(filled).value();
    type = "text/plain; charset=utf-8";
  }
  if (type != nullptr && !has_field(out.headers, "content-type"))
    out.headers.emplace_back("Content-Type", type);
  return out;
}

Json HttpCommand::meaning(int status, const std::string& body) const {
  const Json* const said = said_of(status, json_);
  const bool is_good = said == nullptr ? status >= 200 && status < 300 : *said == "ok";
  if (said != nullptr && said->is_object()) return *said;
  if (said != nullptr && !is_good) return {{said->get<std::string>(), quoted(status, body)}};
  if (!is_good && status == 503) return {{"fail", quoted(status, body)}};
  if (!is_good) return unclear(quoted(status, body));
  auto value = value_of(json_.value("answer", Json()), status, body);
  if (!value) return unclear(std::to_string(status) + ", but " + value.error().message);
  return {{"ok", std::move(value).value()}};
}

Json HttpCommand::unanswered(const std::string& why, bool sent) const {
  return sent ? unclear(why) : Json{{"fail", why}};
}

// What only reads has no effect, whatever became of it.
Json HttpCommand::unclear(const std::string& why) const {
  return {{reads_ ? "fail" : "info", why}};
}

}  // namespace filibuster::property
