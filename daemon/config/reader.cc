#include "daemon/config/reader.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/text/duration.h"
#include "core/text/nearest.h"

namespace filibuster::config {
namespace {

constexpr double kMaxDuration = 7.0 * 24 * 3600 * 1000;  // a week, in milliseconds
constexpr std::string_view kDurationForms =
    "a number of seconds, or text such as \"500ms\", \"5s\", \"2m\", \"1h\"";

}  // namespace

std::string list_of(std::span<const std::string_view> words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += "'" + std::string(words[i]) + "'";
  }
  return text;
}

void Reader::error(size_t offset, std::string message) {
  // Messages quote the source. The quoted text must not control a terminal or flood it.
  constexpr size_t kMaxMessage = 500;
  for (char& c : message) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  if (message.size() > kMaxMessage) message = message.substr(0, kMaxMessage) + "...";
  found_.push_back({offset, std::move(message)});
}

size_t Reader::offset_in(const SourceNode& node, size_t index) const {
  const std::string_view raw = text_.substr(std::min(node.offset + 1, text_.size()));
  return raw.starts_with(node.text) ? node.offset + 1 + index : node.offset;
}

bool Reader::expect(const SourceNode& node, SourceNode::Kind kind, std::string_view what) {
  if (node.kind == kind) return true;
  error(node.offset, std::string(what) + ": expected " + std::string(kind_name(kind)) + ", found " +
                         std::string(kind_name(node.kind)));
  return false;
}

std::optional<std::string> Reader::text(const SourceNode& node, std::string_view what) {
  if (!expect(node, SourceNode::Kind::kString, what)) return std::nullopt;
  // Texts end up as arguments, environment and file names, where a zero byte would cut them.
  if (node.text.find('\0') != std::string::npos) {
    error(node.offset, std::string(what) + ": a zero character is not allowed");
    return std::nullopt;
  }
  return node.text;
}

std::optional<bool> Reader::flag(const SourceNode& node, std::string_view what) {
  if (!expect(node, SourceNode::Kind::kBool, what)) return std::nullopt;
  return node.flag;
}

std::optional<int64_t> Reader::integer(const SourceNode& node, std::string_view what, int64_t low,
                                       int64_t high) {
  if (node.kind == SourceNode::Kind::kInteger && node.integer >= low && node.integer <= high) {
    return node.integer;
  }
  const bool number =
      node.kind == SourceNode::Kind::kInteger || node.kind == SourceNode::Kind::kNumber;
  error(node.offset, std::string(what) + ": expected a whole number from " + std::to_string(low) +
                         " to " + std::to_string(high) +
                         (number ? "" : ", found " + std::string(kind_name(node.kind))));
  return std::nullopt;
}

std::optional<std::chrono::milliseconds> Reader::duration(const SourceNode& node,
                                                          std::string_view what,
                                                          std::string_view range) {
  double milliseconds = -1;
  if (node.kind == SourceNode::Kind::kInteger || node.kind == SourceNode::Kind::kNumber) {
    milliseconds = node.number * 1000;
  } else if (node.kind == SourceNode::Kind::kString) {
    if (const auto time = parse_duration(node.text))
      milliseconds = static_cast<double>(time->milliseconds);
  } else {
    error(node.offset, std::string(what) + ": expected " + std::string(kDurationForms) +
                           ", found " + std::string(kind_name(node.kind)));
    return std::nullopt;
  }
  if (!(milliseconds >= 0) || milliseconds > kMaxDuration) {
    error(node.offset, std::string(what) + ": expected " + std::string(kDurationForms) + ", " +
                           std::string(range));
    return std::nullopt;
  }
  return std::chrono::milliseconds(std::llround(milliseconds));
}

std::optional<size_t> Reader::word(const SourceNode& node, std::string_view what,
                                   std::span<const std::string_view> words) {
  if (node.kind == SourceNode::Kind::kString) {
    const auto found = std::find(words.begin(), words.end(), node.text);
    if (found != words.end()) return static_cast<size_t>(found - words.begin());
  }
  error(node.offset, std::string(what) + ": expected " + list_of(words));
  return std::nullopt;
}

std::vector<ConfigError> Reader::take() && {
  std::stable_sort(found_.begin(), found_.end(),
                   [](const Found& a, const Found& b) { return a.offset < b.offset; });
  std::vector<ConfigError> errors;
  for (Found& found : found_) {
    const SourcePosition position = position_of(text_, found.offset);
    errors.push_back({file_, position.line, position.column, std::move(found.message)});
  }
  return errors;
}

void check_keys(Reader& reader, const SourceNode& node, std::string_view what,
                std::span<const std::string_view> known) {
  for (size_t i = 0; i < node.children.size(); ++i) {
    const SourceNode& child = node.children[i];
    const auto same = [&](const SourceNode& other) { return other.key == child.key; };
    if (std::any_of(node.children.begin(), node.children.begin() + static_cast<ptrdiff_t>(i),
                    same)) {
      reader.error(child.key_offset, "'" + child.key + "' is given twice in " + std::string(what));
      continue;
    }
    if (std::find(known.begin(), known.end(), child.key) != known.end()) continue;
    const std::string_view near = nearest(child.key, known);
    reader.error(child.key_offset,
                 "unknown key '" + child.key + "' in " + std::string(what) +
                     (near.empty() ? "; known are " + list_of(known)
                                   : "; did you mean '" + std::string(near) + "'?"));
  }
}

}  // namespace filibuster::config
