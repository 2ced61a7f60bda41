// Drafts of configurations from texts, for the tests of `init`.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/init/draft.h"
#include "core/text/json_comments.h"
#include "daemon/config/config.h"

namespace filibuster::init {

using Files = std::map<std::string, std::string>;

inline ReadFile files(Files all) {
  return [all = std::move(all)](const std::string& path) -> std::optional<std::string> {
    const auto found = all.find(path);
    return found == all.end() ? std::nullopt : std::optional(found->second);
  };
}
inline ReadVariable variables(Files all) {
  return files(std::move(all));
}

// The configuration is valid, and is what the command reads.
inline nlohmann::json written(const Draft& draft) {
  const std::string text = to_configuration(draft);
  for (const ConfigError& error : parse_config(text, "f", "/d").errors)
    ADD_FAILURE() << error.line << ": " << error.message << "\n" << text;
  return nlohmann::json::parse(without_comments(text));
}

inline Draft drafted(const std::string& text, Files all = {}, Files environment = {},
                     const std::string& file = "compose.yaml") {
  auto draft = read_compose(file, text, files(std::move(all)), variables(std::move(environment)));
  EXPECT_TRUE(draft.ok()) << draft.error().message;
  if (!draft.ok()) return {};
  separate_ports(&draft.value());
  return draft.value();
}

// What stands in the configuration for a compose file.
inline nlohmann::json compose(const std::string& text, Files all = {}, Files environment = {}) {
  return written(drafted(text, std::move(all), std::move(environment)));
}

inline std::string remarks_of(const Draft& draft) {
  std::string out;
  for (const std::string& remark : draft.remarks) out += remark + "\n";
  return out;
}

}  // namespace filibuster::init
