// The lines of source around call sites, for report.html. A file is read when a frame of it is first
// asked for. What is too large, is no regular file or cannot be read has no excerpt.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace filibuster {

struct SourceExcerpt {
  uint32_t first = 0;  // number of the first line
  std::vector<std::string> lines;
};

class SourceExcerpts {
 public:
  static constexpr uint32_t kAround = 4;   // lines before and after the call site
  static constexpr size_t kMaxLine = 240;  // bytes of a line that are shown
  static constexpr size_t kMaxFileBytes = 2'000'000;
  static constexpr size_t kMaxFiles = 200;
  static constexpr size_t kMaxExcerpts = 2000;

  explicit SourceExcerpts(std::vector<std::string> folders) : folders_(std::move(folders)) {}
  // The excerpt of a frame ("users.py:31 (get_bookings)"), without secrets. nullopt: there is none.
  std::optional<SourceExcerpt> of(std::string_view frame);
  using Lines = std::vector<std::string>;
  // The whole of a file, without secrets. Empty: it cannot be shown.
  Lines file(const std::string& name);

 private:
  const Lines* lines_of(const std::string& file);

  std::vector<std::string> folders_;
  std::map<std::string, Lines> files_;  // empty: the file cannot be shown
  size_t given_ = 0;
};

}  // namespace filibuster
