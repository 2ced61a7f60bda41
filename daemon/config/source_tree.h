// JSON as a small tree in which every value knows its position in the source. The document object model
// of nlohmann's library loses positions, so the tree is built from its SAX interface over a counting
// input.
//
//   SourceTree tree = parse_source(text);
//   if (tree.error) ... tree.error->offset, tree.error->message
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace filibuster {

struct SourceNode {
  enum class Kind : uint8_t { kNull, kBool, kInteger, kNumber, kString, kArray, kObject };
  Kind kind = Kind::kNull;
  size_t offset = 0;      // of the value's first byte
  size_t key_offset = 0;  // of its key's quote, if it stands in an object
  std::string key;
  std::string text;                  // kString
  bool flag = false;                 // kBool
  int64_t integer = 0;               // kInteger
  double number = 0;                 // kInteger and kNumber
  std::vector<SourceNode> children;  // kArray, kObject: in the order of the source
};

// "an object", "a string", ...: for messages.
std::string_view kind_name(SourceNode::Kind kind);

struct SourceError {
  size_t offset = 0;
  std::string message;
};

struct SourceTree {
  SourceNode root;
  std::optional<SourceError> error;
};
// Never throws. Values may be nested kMaxSourceDepth deep.
inline constexpr size_t kMaxSourceDepth = 32;
SourceTree parse_source(std::string_view text);

// Line and column from 1; the column counts characters (UTF-8 code points), as editors do.
struct SourcePosition {
  int line = 1, column = 1;
};
SourcePosition position_of(std::string_view text, size_t offset);

}  // namespace filibuster
