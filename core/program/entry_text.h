// What a person reads about a program that the library does not enter.
#pragma once

#include <string>

#include "core/program/entry.h"

namespace filibuster {

// "is statically linked: ..."; empty: the library enters. `loader`: of the program.
std::string obstacle_text(Entry entry, uint16_t machine, std::string_view loader);
// "is setuid: ..."; empty: it gains no rights.
std::string obstacle_text(Gain gain);

}  // namespace filibuster
