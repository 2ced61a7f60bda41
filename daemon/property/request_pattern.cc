#include "daemon/property/request_pattern.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "core/text/uri.h"
#include "daemon/property/history.h"
#include "daemon/property/json_pointer.h"

namespace filibuster::property {
namespace {

using Json = nlohmann::json;

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> out;
  while (true) {
    const size_t end = text.find(at);
    out.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

std::string_view query_of(std::string_view path) {
  const size_t question = path.find('?');
  return question == std::string_view::npos ? std::string_view() : path.substr(question + 1);
}

// The names of placeholders in a request's template.
void collect_names(const Json& json, std::set<std::string>* out) {
  if (json.is_structured()) {
    for (const Json& part : json) collect_names(part, out);
    return;
  }
  if (!json.is_string()) return;
  const auto& text = json.get_ref<const std::string&>();
  for (size_t at = text.find("${"); at != std::string::npos; at = text.find("${", at + 1)) {
    const size_t end = text.find('}', at);
    if (end == std::string::npos) return;
    out->insert(text.substr(at + 2, end - at - 2));
  }
}

bool has_placeholder_name(const Json& json) {
  if (!json.is_structured()) return false;
  const auto is_one = [&](const auto& item) {
    return (json.is_object() && item.key().find("${") != std::string::npos) ||
           has_placeholder_name(item.value());
  };
  const auto items = json.items();
  return std::any_of(items.begin(), items.end(), is_one);
}

bool keep(const std::string& name, Json value, std::map<std::string, Json>* out) {
  if (name == "process") return true;  // who asked makes no difference
  if (const auto known = out->find(name); known != out->end()) return known->second == value;
  out->emplace(name, std::move(value));
  return true;
}

// RFC 6901: puts `value` where the pointer says, and makes objects (an array where a place is "0") on the way.
void put_at(std::string_view pointer, const Json& value, Json* at) {
  for (const std::string& name : pointer_names(pointer)) {
    if (at->is_array() || (!at->is_object() && name == "0")) {
      if (!at->is_array()) *at = Json::array();
      size_t place = at->size();
      std::from_chars(name.data(), name.data() + name.size(), place);
      if (place >= at->size()) {
        at->push_back(nullptr);
        place = at->size() - 1;
      }
      at = &(*at)[place];
      continue;
    }
    if (!at->is_object()) *at = Json::object();
    at = &(*at)[name];
  }
  *at = value;
}

bool has_type(const stubs::Answer& answer) {
  return std::any_of(answer.headers.begin(), answer.headers.end(), [](const auto& field) {
    constexpr std::string_view kName = "content-type";
    return std::equal(field.first.begin(), field.first.end(), kName.begin(), kName.end(),
                      [](char a, char b) { return (a | 0x20) == b; });
  });
}

void set_body(std::string body, const char* type, stubs::Answer* out) {
  out->body = std::move(body);
  if (!has_type(*out)) out->headers.emplace_back("Content-Type", type);
}

Json parsed(const std::string& text) {
  return is_too_deep(text) ? Json(Json::value_t::discarded) : Json::parse(text, nullptr, false);
}

}  // namespace

TextPattern::TextPattern(std::string_view text) {
  while (!text.empty()) {
    const size_t at = text.find("${");
    const size_t end = at == std::string_view::npos ? at : text.find('}', at);
    const size_t fixed = end == std::string_view::npos ? text.size() : at;
    if (fixed > 0) pieces_.push_back({false, std::string(text.substr(0, fixed))});
    if (end == std::string_view::npos) return;
    pieces_.push_back({true, std::string(text.substr(at + 2, end - at - 2))});
    text.remove_prefix(end + 1);
  }
}

size_t TextPattern::fixed() const {
  size_t out = 0;
  for (const Piece& piece : pieces_) out += piece.is_placeholder ? 0 : piece.text.size();
  return out;
}

std::optional<TextPattern::Members> TextPattern::match(std::string_view text) const {
  Members out;
  if (!match_from(0, text, &out)) return std::nullopt;
  return out;
}

bool TextPattern::match_from(size_t piece, std::string_view text, Members* out) const {
  if (piece == pieces_.size()) return text.empty();
  const Piece& first = pieces_[piece];
  if (!first.is_placeholder)
    return text.starts_with(first.text) &&
           match_from(piece + 1, text.substr(first.text.size()), out);
  // A placeholder ends where the text behind it begins, so that only these places are tried.
  const bool is_last = piece + 1 == pieces_.size();
  const bool is_before_text = !is_last && !pieces_[piece + 1].is_placeholder;
  const auto known = out->find(first.text);
  for (size_t length = is_last ? text.size() : 0; length <= text.size(); ++length) {
    if (is_before_text) length = text.find(pieces_[piece + 1].text, length);
    if (length == std::string_view::npos) return false;
    const std::string_view taken = text.substr(0, length);
    if (known != out->end() && known->second != taken) continue;
    Members tried = *out;
    tried[first.text] = std::string(taken);
    if (!match_from(piece + 1, text.substr(length), &tried)) continue;
    *out = std::move(tried);
    return true;
  }
  return false;
}

Result<RequestPattern> RequestPattern::make(const Json& json, ValueShape shape) {
  RequestPattern out(std::move(shape));
  out.method_ = json["method"].get<std::string>();
  const std::string path = json["path"].get<std::string>();
  std::set<std::string> names;
  collect_names(path, &names);
  for (const std::string_view segment :
       split(std::string_view(path).substr(0, path.find('?')), '/')) {
    out.segments_.emplace_back(percent_decoded(segment, false));
    out.fixed_ += out.segments_.back().fixed() + 1;
  }
  for (const std::string_view each : split(query_of(path), '&')) {
    if (each.empty()) continue;
    const size_t equals = std::min(each.find('='), each.size());
    out.query_.push_back(
        {percent_decoded(each.substr(0, equals), true),
         TextPattern(percent_decoded(each.substr(std::min(equals + 1, each.size())), true))});
    out.fixed_ += out.query_.back().name.size() + out.query_.back().value.fixed() + 1;
  }
  if (const auto body = json.find("body"); body != json.end()) {
    if (has_placeholder_name(*body))
      return Error{
          "the name of a member of its 'body' is a placeholder, which is not read backwards"};
    out.body_ = *body;
    collect_names(*body, &names);
    out.fixed_ += json_text(*body).size();
  } else if (const auto text = json.find("text"); text != json.end()) {
    out.text_.emplace(text->get<std::string>());
    collect_names(*text, &names);
    out.fixed_ += out.text_->fixed();
  }
  if (!out.shape_.members) return out;
  for (const std::string& member : *out.shape_.members) {
    if (!names.contains(member))
      return Error{"neither its path nor its body has ${" + member + "}"};
  }
  return out;
}

Json RequestPattern::typed(const std::string& name, const std::string& text) const {
  const bool is_name = name == "key" || name == "from" || name == "to";
  if (shape_.texts || (is_name && shape_.members)) return text;
  Json value = parsed(text);
  return value.is_discarded() ? Json(text) : value;
}

bool RequestPattern::match_text(const TextPattern& pattern, const std::string& text,
                                Members* out) const {
  const auto found = pattern.match(text);
  if (!found) return false;
  return std::all_of(found->begin(), found->end(), [&](const auto& member) {
    return keep(member.first, typed(member.first, member.second), out);
  });
}

bool RequestPattern::match_path(std::string_view path, Members* out) const {
  const auto segments = split(path.substr(0, path.find('?')), '/');
  if (segments.size() != segments_.size()) return false;
  for (size_t i = 0; i < segments.size(); ++i) {
    if (!match_text(segments_[i], percent_decoded(segments[i], false), out)) return false;
  }
  const auto parameters = split(query_of(path), '&');
  return std::all_of(query_.begin(), query_.end(), [&](const Parameter& wanted) {
    return std::any_of(parameters.begin(), parameters.end(), [&](std::string_view each) {
      const size_t equals = std::min(each.find('='), each.size());
      if (percent_decoded(each.substr(0, equals), true) != wanted.name) return false;
      const std::string_view value = each.substr(std::min(equals + 1, each.size()));
      return match_text(wanted.value, percent_decoded(value, true), out);
    });
  });
}

// What the request says beyond the pattern makes no difference.
bool RequestPattern::match_json(const Json& wanted, const Json& found, Members* out) const {
  if (wanted.is_string()) {
    const auto& text = wanted.get_ref<const std::string&>();
    if (text.starts_with("${") && text.find('}') + 1 == text.size())
      return keep(text.substr(2, text.size() - 3), found, out);
    return found.is_string() && match_text(TextPattern(text), found.get<std::string>(), out);
  }
  if (wanted.is_object()) {
    const auto items = wanted.items();
    return found.is_object() && std::all_of(items.begin(), items.end(), [&](const auto& item) {
             const auto part = found.find(item.key());
             return part != found.end() && match_json(item.value(), *part, out);
           });
  }
  if (wanted.is_array())
    return found.is_array() &&
           std::equal(wanted.begin(), wanted.end(), found.begin(), found.end(),
                      [&](const Json& a, const Json& b) { return match_json(a, b, out); });
  return wanted == found;
}

std::optional<Json> RequestPattern::match(const stubs::Call& call) const {
  Members members;
  if (call.method != method_ || !match_path(call.path, &members)) return std::nullopt;
  if (body_ && !match_json(*body_, call.arguments, &members)) return std::nullopt;
  if (text_ && !match_text(*text_, call.body, &members)) return std::nullopt;
  const bool is_whole = shape_.members ? *shape_.members == std::vector<std::string>{"value"}
                                       : members.size() == 1 && members.contains("value");
  if (is_whole) return members["value"];
  if (members.empty() || (shape_.members && shape_.members->empty())) return Json();
  Json value = Json::object();
  for (const auto& [name, part] : members) {
    const bool is_wanted =
        !shape_.members ||
        std::find(shape_.members->begin(), shape_.members->end(), name) != shape_.members->end();
    if (is_wanted) value[name] = part;
  }
  return value;
}

stubs::Answer answer_with(const Json& json, const Json& value, stubs::Answer base) {
  const Json statuses = json.value("statuses", Json::object());
  for (const auto& [status, meaning] : statuses.items()) {
    if (!meaning.is_object() || meaning["ok"] != value) continue;
    stubs::Answer out;
    out.delay = base.delay;
    out.status = static_cast<uint16_t>(
        std::stoi(status.substr(1) == "xx" ? status.substr(0, 1) + "00" : status));
    return out;
  }
  const Json answer = json.value("answer", Json());
  if (!answer.is_string()) return base;
  const auto& what = answer.get_ref<const std::string&>();
  if (what == "status") {
    const auto status = whole_number(value).value_or(0);
    if (status >= 200 && status <= 599) base.status = static_cast<uint16_t>(status);
  } else if (what == "text") {
    set_body(value.is_string() ? value.get<std::string>() : json_text(value),
             "text/plain; charset=utf-8", &base);
  } else if (what == "json") {
    set_body(json_text(value), "application/json", &base);
  } else {
    Json body = base.body.empty() ? Json() : parsed(base.body);
    put_at(what, value, &body);
    set_body(json_text(body), "application/json", &base);
  }
  return base;
}

}  // namespace filibuster::property
