#include "daemon/wire/json_node.h"

#include <array>
#include <nlohmann/json.hpp>

#include "core/text/json_depth.h"

namespace filibuster::wire {
namespace {

using Kind = JsonNode::Kind;

constexpr std::array<std::string_view, 4> kSpaceNames{"compact", "python", "indent-2", "indent-4"};
constexpr std::string_view kWithLine = "-line";

bool is_json_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

// Cuts a valid JSON text into tokens.
class Tokens {
 public:
  Tokens(std::string_view text, size_t at) : text_(text), at_(at) {}

  size_t at() const { return at_; }
  // The first byte of the next token, which is not taken; 0: there is none.
  char peek() {
    while (at_ < text_.size() && is_json_blank(text_[at_])) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  std::string_view take() {
    const char first = peek();
    const size_t begin = at_;
    if (first == '"') {
      ++at_;
      while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
      at_ = std::min(at_ + 1, text_.size());
    } else if (std::string_view("{}[],:").find(first) != std::string_view::npos) {
      if (at_ < text_.size()) ++at_;
    } else {
      while (at_ < text_.size() && !is_json_blank(text_[at_]) &&
             std::string_view("{}[],:").find(text_[at_]) == std::string_view::npos)
        ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }

 private:
  std::string_view text_;
  size_t at_;
};

// Recursion is as deep as the text, which was looked at before.
JsonNode read_node(Tokens* tokens) {
  const char first = tokens->peek();
  if (first != '{' && first != '[') return JsonNode::scalar(std::string(tokens->take()));
  JsonNode out;
  out.kind = first == '{' ? Kind::kObject : Kind::kArray;
  const char last = first == '{' ? '}' : ']';
  tokens->take();
  while (tokens->peek() != last && tokens->peek() != '\0') {
    std::string key;
    if (out.kind == Kind::kObject) {
      key = tokens->take();
      tokens->take();  // the colon
    }
    out.children.push_back(read_node(tokens));
    out.children.back().key = std::move(key);
    if (tokens->peek() == ',') tokens->take();
  }
  tokens->take();
  return out;
}

void end_line(std::string* out, size_t blanks) {
  *out += '\n';
  out->append(blanks, ' ');
}

void print_to(std::string* out, const JsonNode& node, JsonSpace space, size_t depth) {
  if (node.kind == Kind::kScalar) {
    *out += node.token;
    return;
  }
  const size_t width = space == JsonSpace::kTwo ? 2 : space == JsonSpace::kFour ? 4 : 0;
  *out += node.kind == Kind::kObject ? '{' : '[';
  for (size_t i = 0; i < node.children.size(); ++i) {
    const JsonNode& child = node.children[i];
    if (i != 0) *out += space == JsonSpace::kPython ? ", " : ",";
    if (width != 0) end_line(out, width * (depth + 1));
    if (node.kind == Kind::kObject)
      out->append(child.key).append(space == JsonSpace::kCompact ? ":" : ": ");
    print_to(out, child, space, depth + 1);
  }
  if (width != 0 && !node.children.empty()) end_line(out, width * depth);
  *out += node.kind == Kind::kObject ? '}' : ']';
}

}  // namespace

JsonNode& JsonNode::add(std::string_view name, JsonNode value) {
  value.key = "\"" + std::string(name) + "\"";
  return add(std::move(value));
}

JsonNode& JsonNode::add(JsonNode value) {
  children.push_back(std::move(value));
  return *this;
}

std::optional<JsonNode> parse_json_node(std::string_view text, size_t most_depth) {
  // The library takes a zero byte for the end, and a byte order mark for nothing.
  if (text.find('\0') != std::string_view::npos || text.starts_with("\xEF\xBB\xBF") ||
      is_nested_too_deep(text, most_depth) || !nlohmann::json::accept(text))
    return std::nullopt;
  Tokens tokens(text, 0);
  return read_node(&tokens);
}

std::string_view json_value_at(std::string_view text, size_t offset) {
  Tokens tokens(text, offset);
  size_t depth = 0;
  do {
    const std::string_view token = tokens.take();
    if (token.empty()) break;
    if (token == "{" || token == "[") ++depth;
    if ((token == "}" || token == "]") && depth > 0) --depth;
  } while (depth > 0);
  return text.substr(offset, tokens.at() - offset);
}

std::optional<std::string> json_token(std::string_view text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {  // not UTF-8
    return std::nullopt;
  }
}

std::string json_token_text(const std::string& token) {
  if (!token.starts_with('"')) return token;
  if (token.find('\\') == std::string::npos) return token.substr(1, token.size() - 2);
  const auto value = nlohmann::json::parse(token, nullptr, false);
  return value.is_string() ? value.get<std::string>() : token;
}

std::string print_json(const JsonNode& node, JsonSpace space) {
  std::string out;
  print_to(&out, node, space, 0);
  return out;
}

std::string print_json(const JsonNode& node, JsonStyle style) {
  return print_json(node, style.space) + (style.line ? "\n" : "");
}

std::optional<JsonStyle> json_style_of(const JsonNode& node, std::string_view bytes) {
  const bool line = bytes.ends_with('\n');
  if (line) bytes.remove_suffix(1);
  for (size_t i = 0; i < kSpaceNames.size(); ++i) {
    const auto space = static_cast<JsonSpace>(i);
    if (print_json(node, space) == bytes) return JsonStyle{space, line};
  }
  return std::nullopt;
}

std::string json_style_name(JsonStyle style) {
  return std::string(kSpaceNames[static_cast<size_t>(style.space)]) +
         std::string(style.line ? kWithLine : "");
}

std::optional<JsonStyle> find_json_style(std::string_view name) {
  JsonStyle out;
  out.line = name.ends_with(kWithLine);
  if (out.line) name.remove_suffix(kWithLine.size());
  for (size_t i = 0; i < kSpaceNames.size(); ++i) {
    out.space = static_cast<JsonSpace>(i);
    if (kSpaceNames[i] == name) return out;
  }
  return std::nullopt;
}

std::vector<std::string> json_style_names() {
  std::vector<std::string> out;
  for (const std::string_view each : kSpaceNames) {
    out.emplace_back(each);
    out.push_back(out.back() + std::string(kWithLine));
  }
  return out;
}

}  // namespace filibuster::wire
