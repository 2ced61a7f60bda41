// JSON that keeps how it was written: a number has its digits, a text its escapes, an object the
// order of its members. What is between the tokens is not kept, but for the styles in which the
// usual libraries print. So a body stands in a file as JSON that people can read, and the very
// bytes come back from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace filibuster::wire {

struct JsonNode {
  enum class Kind : uint8_t { kScalar, kArray, kObject };
  Kind kind = Kind::kScalar;
  std::string key;    // of a member: its token, with quotes and escapes
  std::string token;  // kScalar: as written
  std::vector<JsonNode> children;

  bool operator==(const JsonNode&) const = default;

  static JsonNode scalar(std::string token) { return {Kind::kScalar, {}, std::move(token), {}}; }
  static JsonNode array() { return {Kind::kArray, {}, {}, {}}; }
  static JsonNode object() { return {Kind::kObject, {}, {}, {}}; }
  // `name`: a name that needs no escapes.
  JsonNode& add(std::string_view name, JsonNode value);
  JsonNode& add(JsonNode value);
};

// nullopt: it is no JSON text (RFC 8259) in UTF-8, or nests deeper than `most_depth`.
std::optional<JsonNode> parse_json_node(std::string_view text, size_t most_depth);

// The text of the value that begins at `offset` of a valid JSON text.
std::string_view json_value_at(std::string_view text, size_t offset);

// The token of a text. nullopt: `text` is not UTF-8.
std::optional<std::string> json_token(std::string_view text);
// The text of a token that begins with a quote; any other token as it stands.
std::string json_token_text(const std::string& token);

enum class JsonSpace : uint8_t {
  kCompact,  // {"a":[1,2]}: JavaScript, Go
  kPython,   // {"a": [1, 2]}
  kTwo,      // one member or element a line, two blanks for each level
  kFour,
};
std::string print_json(const JsonNode& node, JsonSpace space);

struct JsonStyle {
  JsonSpace space = JsonSpace::kCompact;
  bool line = false;  // an end of line follows (Flask, Go's encoder)

  bool operator==(const JsonStyle&) const = default;
};
std::string print_json(const JsonNode& node, JsonStyle style);
// The style in which `node` prints as `bytes`; nullopt: in none.
std::optional<JsonStyle> json_style_of(const JsonNode& node, std::string_view bytes);

// "compact", "python-line", ...
std::string json_style_name(JsonStyle style);
std::optional<JsonStyle> find_json_style(std::string_view name);
std::vector<std::string> json_style_names();

}  // namespace filibuster::wire
