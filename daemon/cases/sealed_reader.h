// Opens a file of a set: JSON of a format that is known, and as it was written.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/json_comments.h"
#include "daemon/cases/file_text.h"
#include "daemon/cases/model.h"
#include "daemon/config/reader.h"

namespace filibuster::cases {

class SealedReader {
 public:
  SealedReader(std::string_view text, const std::string& path, bool sealed)
      : original_(text), text_(without_comments(text)), reader_(text, path), sealed_(sealed) {}

  // False: nothing further is read, and errors say why. An error of the seal does not stop the
  // reading.
  bool begin() {
    tree_ = parse_source(original_);
    if (tree_.error) {
      reader_.error(tree_.error->offset, tree_.error->message);
      return false;
    }
    if (!reader_.expect(tree_.root, SourceNode::Kind::kObject, "the file")) return false;
    const auto format = std::find_if(tree_.root.children.begin(), tree_.root.children.end(),
                                     [](const SourceNode& child) { return child.key == "format"; });
    if (format != tree_.root.children.end() &&
        !reader_.integer(*format, "'format' (another version of Filibuster wrote the file?)",
                         kCaseFormat, kCaseFormat))
      return false;
    if (!sealed_) return true;
    if (const auto broken = check_seal(original_)) reader_.error(broken->offset, broken->message);
    return true;
  }

  config::Reader& reader() { return reader_; }
  const SourceNode& root() const { return tree_.root; }
  // What `root` was read from: offsets are the same as in the file.
  std::string_view text() const { return text_; }
  std::vector<ConfigError> take() && { return std::move(reader_).take(); }

 private:
  std::string_view original_;
  std::string text_;
  config::Reader reader_;
  SourceTree tree_;
  bool sealed_;
};

}  // namespace filibuster::cases
