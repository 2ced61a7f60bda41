#include "daemon/wire/body_form.h"

#include <utility>

namespace filibuster::wire {

std::optional<JsonNode> json_body(std::string_view bytes) {
  const size_t first = bytes.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || (bytes[first] != '{' && bytes[first] != '['))
    return std::nullopt;
  return parse_json_node(bytes, kMostJsonDepth);
}

BodyForm body_form(std::string_view bytes) {
  BodyForm out;
  if (bytes.empty()) return out;
  if (auto json = json_body(bytes)) {
    if (const auto style = json_style_of(*json, bytes)) {
      out.kind = BodyKind::kJson;
      out.json = std::move(*json);
      out.style = *style;
      return out;
    }
  }
  if (auto token = json_token(bytes)) {
    out.kind = BodyKind::kText;
    out.token = std::move(*token);
    return out;
  }
  out.kind = BodyKind::kBytes;
  return out;
}

}  // namespace filibuster::wire
