#include "daemon/redact/config_secrets.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/text/json_comments.h"
#include "daemon/redact/redact.h"

namespace filibuster {
namespace {

using Json = nlohmann::ordered_json;

// Where a value stands in the configuration.
struct Place {
  std::string owner;      // "service 'users'", "test 'checkout'"; "": the configuration itself
  std::string name;       // of the member: "command", "DB_PASSWORD"
  std::string before;     // if the value stands in a list, the text before it
  bool variable = false;  // the value is that of an environment variable
};

// What stands at the same place of the other configuration; nullptr if nothing does. Services and tests
// are found by their names, other elements of a list by their index.
const Json* counterpart(const Json* now, const std::string& key) {
  if (now == nullptr || !now->is_object()) return nullptr;
  const auto at = now->find(key);
  return at == now->end() ? nullptr : &*at;
}
const Json* counterpart(const Json* now, const Json& element, size_t index) {
  if (now == nullptr || !now->is_array()) return nullptr;
  if (!element.is_object() || !element.contains("name"))
    return index < now->size() ? &(*now)[index] : nullptr;
  for (const Json& other : *now) {
    if (other.is_object() && other.contains("name") && other["name"] == element["name"])
      return &other;
  }
  return nullptr;
}

// Calls `leaf(place, text, now)` for each text, where `now` is what stands at the same place of another
// configuration, or nullptr.
template <class Leaf>
void walk(Json* json, const Json* now, const Place& place, const Leaf& leaf) {
  if (json->is_object()) {
    for (const auto& [key, value] : json->items()) {
      Place inner = place;
      inner.variable = place.name == "env";
      inner.name = key;
      inner.before.clear();
      walk(&value, counterpart(now, key), inner, leaf);
    }
  } else if (json->is_array()) {
    Place inner = place;
    for (size_t i = 0; i < json->size(); ++i) {
      Json& value = (*json)[i];
      if (value.is_object() && value.contains("name") && value["name"].is_string()) {
        const char* what = place.name == "services" ? "service" : "test";
        inner.owner = std::string(what) + " '" + value["name"].get<std::string>() + "'";
      }
      const std::string text = value.is_string() ? value.get<std::string>() : std::string();
      walk(&value, counterpart(now, value, i), inner, leaf);
      inner.before = text;
    }
  } else if (json->is_string()) {
    leaf(place, json, now);
  }
}

std::string redacted(const Place& place, const std::string& text) {
  if (place.name == "name") return text;  // a replay finds the test by it
  if (place.variable) return redact_variable(place.name, text);
  // ["./users", "--token", "..."]
  if (place.before.starts_with("--") && place.before.find('=') == std::string::npos) {
    constexpr std::string_view kBlank = " ";
    const std::string pair = place.before + std::string(kBlank) + text;
    if (redact_command(pair) != pair) return std::string(kRedacted);
  }
  // The name is that of a header of an injected answer: no key of the configuration looks like a secret.
  if (is_secret_name(place.name)) return std::string(kRedacted);
  return redact_command(text);
}

std::string describe(const Place& place) {
  return std::string(place.variable ? "variable " : "") + "'" + place.name + "'" +
         (place.owner.empty() ? "" : " of " + place.owner);
}

std::string json_text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string redact_config(const std::string& text) {
  // A comment may hold a secret, too, and nothing reads it any more.
  const std::string plain = without_comments(text);
  Json json = Json::parse(plain, nullptr, false);
  if (!json.is_object()) return redact(text);
  bool changed = false;
  walk(&json, nullptr, {}, [&](const Place& place, Json* value, const Json*) {
    const auto before = value->get<std::string>();
    if (std::string after = redacted(place, before); after != before) {
      *value = std::move(after);
      changed = true;
    }
  });
  return changed ? json_text(json) : plain;
}

RestoredConfig restore_config(const std::string& text, const std::string& now) {
  RestoredConfig out{text, {}};
  if (text.find(kRedacted) == std::string::npos) return out;
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return out;
  const Json current = Json::parse(without_comments(now), nullptr, false);
  walk(&json, &current, {}, [&](const Place& place, Json* value, const Json* other) {
    const auto stored = value->get<std::string>();
    if (stored.find(kRedacted) == std::string::npos) return;
    if (other != nullptr && other->is_string() &&
        redacted(place, other->get<std::string>()) == stored) {
      *value = *other;
    } else if (const char* given = place.variable ? getenv(place.name.c_str()) : nullptr;
               given != nullptr) {
      *value = given;
    } else {
      out.missing.push_back(describe(place));
    }
  });
  out.text = json_text(json);
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
