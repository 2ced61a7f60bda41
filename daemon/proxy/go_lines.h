// The lines of Go programs, by Go's own table (core/program/go_table.h).
#pragma once

#include <string>

#include "daemon/proxy/stack_texts.h"

namespace filibuster::proxy {

// What knows the lines of the program at `path`; nullptr: it is no Go program.
GoLine go_lines(const std::string& path);

}  // namespace filibuster::proxy
