#include "daemon/verbs/replay/replayed_commands.h"

#include <nlohmann/json.hpp>

namespace filibuster {
namespace {

using Json = nlohmann::json;

constexpr size_t kLongestShown = 1000;

const Json* member(const Json& json, const char* key) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  return json.is_object() && found != json.end() ? &*found : nullptr;
}

// The value as JSON in ASCII, so that no character is hidden when it is read on a terminal.
std::string shown(const std::string& what, const Json& value) {
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kLongestShown) {
    const size_t more = text.size() - kLongestShown;
    text.resize(kLongestShown);
    text += "... (" + std::to_string(more) + " bytes more in its config_text)";
  }
  return what + ": " + text;
}

bool stands_in(const Json* list, const Json& element) {
  if (list == nullptr || !list->is_array()) return false;
  for (const Json& other : *list) {
    if (other == element) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> unnamed_commands(const std::string& sent, const std::string& test,
                                          const std::string& own) {
  const Json theirs = Json::parse(sent, nullptr, false), ours = Json::parse(own, nullptr, false);
  std::vector<std::string> out;
  const auto compare = [&](const char* list, const char* what, const auto& counts) {
    const Json* elements = member(theirs, list);
    if (elements == nullptr || !elements->is_array()) return;
    for (const Json& element : *elements) {
      if (counts(element) && !stands_in(member(ours, list), element))
        out.push_back(shown(what, element));
    }
  };
  compare("services", "service", [](const Json&) { return true; });
  compare("tests", "test", [&](const Json& element) {
    const Json* name = member(element, "name");
    // An element without a command is a suite: it may contain the test, whatever the suite is called.
    return member(element, "command") == nullptr || name == nullptr || *name == test;
  });
  const Json* hooks = member(theirs, "hooks");
  const Json* own_hooks = member(ours, "hooks");
  if (hooks != nullptr && (own_hooks == nullptr || *hooks != *own_hooks))
    out.push_back(shown("hooks", *hooks));
  return out;
}

}  // namespace filibuster
