// What is in a file, as a text.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <utility>

namespace filibuster {

// What can be read of it: a file of /proc whose process ends meanwhile gives less, and throws nothing.
inline std::string text_of(std::ifstream& file) {
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

}  // namespace filibuster
