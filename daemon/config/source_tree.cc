#include "daemon/config/source_tree.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/text/json_comments.h"

namespace filibuster {
namespace {

// An input iterator over the text that tells a shared counter how far the lexer has read.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(std::string_view text, size_t at, size_t* read)
      : text_(text), at_(at), read_(read) {}
  reference operator*() const { return text_[at_]; }
  CountingIterator& operator++() {
    *read_ = ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  std::string_view text_;
  size_t at_;
  size_t* read_;
};

bool is_between_tokens(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ',' || c == ':';
}

// "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while parsing
// object key - unexpected '}'; expected string literal" -> the text after the position.
std::string readable(std::string_view what) {
  what = what.substr(0, what.find("; last read: "));
  for (std::string_view cut : {"syntax error while parsing ", ": "}) {
    if (const size_t at = what.find(cut); at != std::string_view::npos) {
      what.remove_prefix(at + cut.size());
      if (cut != ": ") return "syntax error in " + std::string(what);
    }
  }
  return "syntax error: " + std::string(what);
}

// Builds the tree. The open containers are addressed by their position in the parents, since
// vectors of children move when they grow.
class TreeBuilder {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  TreeBuilder(std::string_view text, const size_t* read) : text_(text), read_(read) {
    if (text_.starts_with("\xEF\xBB\xBF")) last_end_ = 3;
  }

  bool null() { return leaf({}); }
  bool boolean(bool value) {
    SourceNode node;
    node.kind = SourceNode::Kind::kBool;
    node.flag = value;
    return leaf(std::move(node));
  }
  bool number_integer(number_integer_t value) {
    SourceNode node;
    node.kind = SourceNode::Kind::kInteger;
    node.integer = value;
    node.number = static_cast<double>(value);
    return leaf(std::move(node));
  }
  bool number_unsigned(number_unsigned_t value) {
    constexpr uint64_t kMax = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    if (value > kMax) return number_float(static_cast<double>(value), {});
    return number_integer(static_cast<int64_t>(value));
  }
  bool number_float(number_float_t value, const string_t&) {
    SourceNode node;
    node.kind = SourceNode::Kind::kNumber;
    node.number = value;
    return leaf(std::move(node));
  }
  bool string(string_t& value) {
    SourceNode node;
    node.kind = SourceNode::Kind::kString;
    node.text = value;
    return leaf(std::move(node));
  }
  bool binary(binary_t&) { return false; }  // never called for JSON text
  bool start_object(size_t) { return open(SourceNode::Kind::kObject); }
  bool end_object() { return close(); }
  bool start_array(size_t) { return open(SourceNode::Kind::kArray); }
  bool end_array() { return close(); }
  bool key(string_t& value) {
    key_ = value;
    key_offset_ = token_start();
    return true;
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& error) {
    // `position` counts the bytes read: the offending one is the last of them. A token that is well
    // formed but out of place, or broken in its middle, is shown from its beginning.
    const std::string_view what = error.what();
    const bool at_end = what.find("unexpected end of input") != std::string_view::npos;
    const size_t bad = std::min(position == 0 ? 0 : position - 1, text_.size());
    size_t offset = at_end ? text_.size() : std::min(token_start(), bad);
    std::string message = readable(what);
    if (what.find("ill-formed UTF-8") != std::string_view::npos) {
      offset = bad;
      message = "the file is not UTF-8 text: a byte sequence here is not a character";
    } else if (!at_end && (text_[offset] == '}' || text_[offset] == ']')) {
      size_t before = offset;
      while (before > 0 && is_between_tokens(text_[before - 1]) && text_[before - 1] != ',')
        --before;
      if (before > 0 && text_[before - 1] == ',') {
        offset = before - 1;
        message = "trailing comma: JSON allows none before a closing bracket";
      }
    } else if (!at_end && text_[offset] == '#') {
      message = "a comment begins with // here, or stands between /* and */";
    }
    error_ = SourceError{offset, std::move(message)};
    return false;
  }

  SourceTree take() && { return {std::move(root_), std::move(error_)}; }

 private:
  // Where the token begins that the lexer has just read.
  size_t token_start() {
    size_t at = last_end_;
    while (at < text_.size() && is_between_tokens(text_[at])) ++at;
    last_end_ = *read_;
    return std::min(at, text_.size());
  }

  SourceNode& place(SourceNode node) {
    node.offset = token_start();
    if (path_.empty()) {
      root_ = std::move(node);
      return root_;
    }
    SourceNode& parent = current();
    if (parent.kind == SourceNode::Kind::kObject) {
      node.key = std::move(key_);
      node.key_offset = key_offset_;
    }
    parent.children.push_back(std::move(node));
    return parent.children.back();
  }
  bool leaf(SourceNode node) {
    const SourceNode::Kind kind = place(std::move(node)).kind;
    // To find the end of a number, the lexer reads one byte more, which is not part of the number.
    const bool number = kind == SourceNode::Kind::kInteger || kind == SourceNode::Kind::kNumber;
    constexpr std::string_view kNumberBytes = "0123456789+-.eE";
    if (number && kNumberBytes.find(text_[last_end_ - 1]) == std::string_view::npos) --last_end_;
    return true;
  }
  bool open(SourceNode::Kind kind) {
    SourceNode node;
    node.kind = kind;
    const SourceNode& placed = place(std::move(node));
    if (path_.size() >= kMaxSourceDepth) {
      error_ = SourceError{placed.offset, "nested too deeply"};
      return false;
    }
    // The root has no place in a parent; its number is not used.
    path_.push_back(path_.empty() ? 0 : current().children.size() - 1);
    return true;
  }
  bool close() {
    last_end_ = *read_;
    path_.pop_back();
    return true;
  }
  SourceNode& current() {
    SourceNode* node = &root_;
    for (size_t i = 1; i < path_.size(); ++i) node = &node->children[path_[i]];
    return *node;
  }

  std::string_view text_;
  const size_t* read_;
  size_t last_end_ = 0;
  SourceNode root_;
  std::vector<size_t> path_;
  std::string key_;
  size_t key_offset_ = 0;
  std::optional<SourceError> error_;
};

}  // namespace

std::string_view kind_name(SourceNode::Kind kind) {
  switch (kind) {
    case SourceNode::Kind::kNull:
      return "null";
    case SourceNode::Kind::kBool:
      return "true or false";
    case SourceNode::Kind::kInteger:
    case SourceNode::Kind::kNumber:
      return "a number";
    case SourceNode::Kind::kString:
      return "a string";
    case SourceNode::Kind::kArray:
      return "an array";
    case SourceNode::Kind::kObject:
      return "an object";
  }
  return "a value";
}

SourceTree parse_source(std::string_view with_comments) {
  const std::string text = without_comments(with_comments);
  // The lexer takes a zero byte for the end of its input and would ignore what follows.
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos) {
    SourceTree tree;
    tree.error = SourceError{zero, "the file is not text: it has a zero byte here"};
    return tree;
  }
  size_t read = 0;
  TreeBuilder builder(text, &read);
  try {
    nlohmann::json::sax_parse(CountingIterator(text, 0, &read),
                              CountingIterator(text, text.size(), &read), &builder);
  } catch (const std::exception& error) {  // out of memory; errors of syntax come as callbacks
    SourceTree tree;
    tree.error = SourceError{0, error.what()};
    return tree;
  }
  return std::move(builder).take();
}

SourcePosition position_of(std::string_view text, size_t offset) {
  offset = std::min(offset, text.size());
  SourcePosition position;
  for (size_t i = text.starts_with("\xEF\xBB\xBF") ? 3 : 0; i < offset; ++i) {
    if (text[i] == '\n') {
      ++position.line;
      position.column = 1;
    } else if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) {
      ++position.column;  // not a continuation byte
    }
  }
  return position;
}

}  // namespace filibuster
