// What the usual base images bring: their entrypoints, commands and ports.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace filibuster::init {

struct ImageRow {
  std::string_view pattern;  // of "name:tag" without a registry (core/text/glob.h)
  std::string_view entry;    // what stands before every command: "java -jar"; "": nothing
  std::string_view command;  // that runs if none is given; "": a shell or an interpreter
  uint16_t port = 0;         // at which that command listens; 0: at none
  // The program that runs what is no program itself: "index.js", "--flag"; "": there is none.
  std::string_view otherwise = {};
};

// nullptr: the image is not one of the usual ones.
const ImageRow* known_image(std::string_view image);

// `command` as it runs in a container of the image, which knows what begins no program.
std::string completed(const ImageRow& image, const std::string& command);

// Whether a command begins with a program, and is no list of arguments for an entrypoint: it is a
// path, or one of the interpreters, shells and servers of applications.
bool begins_with_program(std::string_view command);

}  // namespace filibuster::init
