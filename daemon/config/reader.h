// Reads positioned JSON by tables: one row per known key, with the function that reads the value.
// Reading goes on after an error, so that a person sees all errors, each with its position.
//
//   const Key<HooksConfig> kKeys[] = {{"before_execution", false, read_before}, ...};
//   read_object(reader, node, "hooks", std::span(kKeys), &out);
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/config/config.h"
#include "daemon/config/source_tree.h"

namespace filibuster::config {

// "'a', 'b' or 'c'"
std::string list_of(std::span<const std::string_view> words);

class Reader {
 public:
  Reader(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {}

  void error(size_t offset, std::string message);
  size_t errors() const { return found_.size(); }  // so far
  // The offset of byte `index` of a string value; the offset of the value if it has escapes.
  size_t offset_in(const SourceNode& node, size_t index) const;
  int line_of(const SourceNode& node) const { return place_of(node).line; }
  SourcePosition place_of(const SourceNode& node) const { return position_of(text_, node.offset); }

  // Each of these reports a wrong type as an error and then returns nothing. `what` names the value in
  // the message: "'timeout'".
  bool expect(const SourceNode& node, SourceNode::Kind kind, std::string_view what);
  std::optional<std::string> text(const SourceNode& node, std::string_view what);
  std::optional<bool> flag(const SourceNode& node, std::string_view what);
  std::optional<int64_t> integer(const SourceNode& node, std::string_view what, int64_t low,
                                 int64_t high);
  // A number of seconds, or text with a unit: "500ms", "5s", "2m". `range` only goes into the message:
  // a caller that allows less than a week checks that itself.
  std::optional<std::chrono::milliseconds> duration(const SourceNode& node, std::string_view what,
                                                    std::string_view range = "from 0 to a week");
  // The index of the word in `words`.
  std::optional<size_t> word(const SourceNode& node, std::string_view what,
                             std::span<const std::string_view> words);

  // Errors in the order of the source.
  std::vector<ConfigError> take() &&;

 private:
  struct Found {
    size_t offset;
    std::string message;
  };
  std::string_view text_;
  std::string file_;
  std::vector<Found> found_;
};

template <typename T>
struct Key {
  std::string_view name;
  bool required;
  void (*read)(Reader& reader, const SourceNode& node, T* out);
};

// Reports duplicate and unknown keys, with the nearest known one.
void check_keys(Reader& reader, const SourceNode& node, std::string_view what,
                std::span<const std::string_view> known);

template <typename T>
bool read_object(Reader& reader, const SourceNode& node, std::string_view what,
                 std::span<const Key<T>> keys, T* out) {
  if (!reader.expect(node, SourceNode::Kind::kObject, what)) return false;
  std::vector<std::string_view> known;
  for (const Key<T>& key : keys) {
    known.push_back(key.name);
    const SourceNode* value = nullptr;
    for (const SourceNode& child : node.children) {
      if (child.key == key.name) value = &child;
    }
    if (value != nullptr) {
      key.read(reader, *value, out);
    } else if (key.required) {
      reader.error(node.offset, std::string(what) + " needs '" + std::string(key.name) + "'");
    }
  }
  check_keys(reader, node, what, known);
  return true;
}

}  // namespace filibuster::config
