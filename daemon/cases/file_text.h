// How the files of a set are laid out, so that a reviewer reads them in a diff and the same content
// always has the same bytes: a member a line, two blanks for each level, and on one line what fits
// into kColumns. The last member is the seal, a hash of all bytes before its line.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/wire/json_node.h"

namespace filibuster::cases {

inline constexpr size_t kColumns = 140;

// `object`: the members of the file. Lists of objects among them have an element a line or more.
std::string file_text(const wire::JsonNode& object);
std::string sealed_text(const wire::JsonNode& object);

// What is wrong with the seal of `text`, which is JSON: at which byte, and what.
struct SealError {
  size_t offset = 0;
  std::string message;
};
std::optional<SealError> check_seal(std::string_view text);

// The token of a text, or {"bytes": base64} where it is not UTF-8.
wire::JsonNode text_node(std::string_view text);
wire::JsonNode number_node(uint64_t number);

}  // namespace filibuster::cases
