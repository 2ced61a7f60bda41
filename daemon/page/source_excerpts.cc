#include "daemon/page/source_excerpts.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "daemon/redact/redact.h"
#include "daemon/report/source_place.h"

namespace filibuster {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> text_of(const fs::path& path) {
  std::error_code failed;
  if (!fs::is_regular_file(path, failed) || failed) return std::nullopt;
  const auto size = fs::file_size(path, failed);
  if (failed || size == 0 || size > SourceExcerpts::kMaxFileBytes) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  std::string text(size, '\0');
  if (!file.read(text.data(), static_cast<std::streamsize>(size))) return std::nullopt;
  // A program, not its source.
  if (text.find('\0') != std::string::npos) return std::nullopt;
  return text;
}

// The file of this name below `folder` or a folder above it: compilers write names that are relative to
// where they ran.
std::optional<std::string> text_above(const fs::path& folder, const fs::path& name) {
  constexpr int kMostAbove = 6;
  fs::path at = folder.lexically_normal();
  for (int i = 0; i < kMostAbove; ++i) {
    if (auto text = text_of(at / name)) return text;
    if (!at.has_relative_path()) break;
    at = at.parent_path();
  }
  return std::nullopt;
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string shown_line(const std::string& line) {
  constexpr size_t kMost = SourceExcerpts::kMaxLine;
  return line.size() > kMost ? line.substr(0, kMost) + "..." : line;
}

}  // namespace

const SourceExcerpts::Lines* SourceExcerpts::lines_of(const std::string& file) {
  const auto known = files_.find(file);
  if (known != files_.end()) return &known->second;
  if (files_.size() >= kMaxFiles) return nullptr;
  Lines& lines = files_[file];
  const fs::path name(file);
  std::optional<std::string> text;
  if (name.is_absolute()) {
    text = text_of(name);
  } else {
    for (size_t i = 0; !text && i < folders_.size(); ++i) text = text_above(folders_[i], name);
  }
  if (!text) return &lines;
  // The whole file is redacted before lines are taken from it: a part of a secret is not recognised.
  lines = split_lines(redact(*text));
  // A secret of several lines (a private key) has become one line, so the numbers hold no longer.
  if (lines.size() != split_lines(*text).size()) lines.clear();
  return &lines;
}

std::optional<SourceExcerpt> SourceExcerpts::of(std::string_view frame) {
  const Place place = parse_place(frame);
  if (place.line == 0 || place.file.empty() || given_ >= kMaxExcerpts) return std::nullopt;
  const Lines* lines = lines_of(place.file);
  if (lines == nullptr || place.line > lines->size()) return std::nullopt;
  SourceExcerpt out;
  out.first = place.line > kAround ? place.line - kAround : 1;
  const size_t last = std::min<size_t>(lines->size(), place.line + kAround);
  for (size_t number = out.first; number <= last; ++number)
    out.lines.push_back(shown_line((*lines)[number - 1]));
  ++given_;
  return out;
}

SourceExcerpts::Lines SourceExcerpts::file(const std::string& name) {
  const Lines* lines = lines_of(name);
  if (lines == nullptr) return {};
  Lines out;
  out.reserve(lines->size());
  for (const std::string& line : *lines) out.push_back(shown_line(line));
  return out;
}

}  // namespace filibuster
