// What a body is for people: JSON whose very bytes come back when it is printed, a text, or bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/wire/json_node.h"

namespace filibuster::wire {

// A file of cases may nest 32 deep (daemon/config/source_tree.h), and a body stands within objects
// of it.
inline constexpr size_t kMostJsonDepth = 24;

enum class BodyKind : uint8_t { kEmpty, kJson, kText, kBytes };

struct BodyForm {
  BodyKind kind = BodyKind::kEmpty;
  JsonNode json;  // kJson
  JsonStyle style;
  std::string token;  // kText: as a token of JSON
};

// JSON is an object or an array here: a word or a number alone is a text.
BodyForm body_form(std::string_view bytes);

// The value for whoever compares: JSON in any style, objects and arrays only. nullopt: it is none.
std::optional<JsonNode> json_body(std::string_view bytes);

}  // namespace filibuster::wire
