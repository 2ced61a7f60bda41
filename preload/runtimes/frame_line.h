// A runtime's frame as text: "file:line function".
#pragma once

#include <cstdint>
#include <string_view>

namespace filibuster::preload {

struct FrameLine {
  std::string_view line, file, function;
  uint32_t number = 0;
};

// Splits "file:line function". Without a line number, the whole line is the file.
inline FrameLine parse_frame_line(std::string_view line) {
  FrameLine frame{line, line, {}, 0};
  size_t colon = line.find(':');
  for (; colon != std::string_view::npos; colon = line.find(':', colon + 1)) {
    size_t at = colon + 1;
    uint32_t number = 0;
    while (at < line.size() && line[at] >= '0' && line[at] <= '9')
      number = number * 10 + static_cast<uint32_t>(line[at++] - '0');
    if (at == colon + 1 || (at < line.size() && line[at] != ' ')) continue;
    frame.file = line.substr(0, colon);
    frame.number = number;
    frame.function = at < line.size() ? line.substr(at + 1) : std::string_view{};
    break;
  }
  return frame;
}

// The first line of `text`, without its end, which is taken away from the text.
inline std::string_view take_line(std::string_view* text) {
  const size_t end = text->find('\n');
  const std::string_view line = text->substr(0, end);
  *text = end == std::string_view::npos ? std::string_view{} : text->substr(end + 1);
  return line;
}

}  // namespace filibuster::preload
