#include "daemon/cases/file_text.h"

#include <algorithm>

#include "core/hash.h"
#include "core/text/base64.h"

namespace filibuster::cases {
namespace {

using wire::JsonNode;
using wire::JsonSpace;

constexpr std::string_view kSealKey = "\n  \"seal\": \"";

// Characters, not bytes.
size_t columns_of(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

bool holds_objects(const JsonNode& node) {
  return node.kind == JsonNode::Kind::kArray &&
         std::any_of(node.children.begin(), node.children.end(),
                     [](const JsonNode& each) { return each.kind == JsonNode::Kind::kObject; });
}

// The value, whose first line begins at `depth` levels. A comma may follow.
void put_value(std::string* out, const JsonNode& node, size_t depth) {
  const std::string key = node.key.empty() ? "" : node.key + ": ";
  *out += key;
  const std::string line = wire::print_json(node, JsonSpace::kPython);
  const bool broken = depth == 0 || (depth == 1 && holds_objects(node));
  const bool fits = 2 * depth + columns_of(key) + columns_of(line) + 1 <= kColumns;
  if (node.children.empty() || (!broken && fits)) {
    *out += line;
    return;
  }
  const bool object = node.kind == JsonNode::Kind::kObject;
  *out += object ? "{\n" : "[\n";
  for (size_t i = 0; i < node.children.size(); ++i) {
    out->append(2 * (depth + 1), ' ');
    put_value(out, node.children[i], depth + 1);
    *out += i + 1 < node.children.size() ? ",\n" : "\n";
  }
  out->append(2 * depth, ' ');
  *out += object ? '}' : ']';
}

}  // namespace

std::string file_text(const JsonNode& object) {
  std::string out;
  put_value(&out, object, 0);
  return out + "\n";
}

std::string sealed_text(const JsonNode& object) {
  JsonNode sealed = object;
  sealed.add("seal", JsonNode::scalar("\"\""));
  std::string out = file_text(sealed);
  const size_t at = out.rfind(kSealKey);
  out.insert(at + kSealKey.size(), to_hex(hash_text(std::string_view(out).substr(0, at + 1))));
  return out;
}

std::optional<SealError> check_seal(std::string_view text) {
  const size_t at = text.rfind(kSealKey);
  constexpr std::string_view kHow =
      "; look at it, and seal it anew with `filibuster cases accept FILE`";
  if (at == std::string_view::npos)
    return SealError{text.empty() ? 0 : text.size() - 1,
                     "the file has no seal in a line of its own at its end" + std::string(kHow)};
  const size_t digits = at + kSealKey.size();
  const std::string wanted = to_hex(hash_text(text.substr(0, at + 1))) + "\"\n}\n";
  if (text.substr(digits) == wanted) return std::nullopt;
  return SealError{digits - 1, "the file was changed after it was sealed" + std::string(kHow)};
}

JsonNode text_node(std::string_view text) {
  if (auto token = wire::json_token(text)) return JsonNode::scalar(std::move(*token));
  JsonNode out = JsonNode::object();
  out.add("bytes", JsonNode::scalar("\"" + to_base64(text) + "\""));
  return out;
}

JsonNode number_node(uint64_t number) {
  return JsonNode::scalar(std::to_string(number));
}

}  // namespace filibuster::cases
