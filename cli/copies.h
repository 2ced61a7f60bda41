// Documents of a session that are written where the user wants them, besides those in the root.
#pragma once

#include <span>
#include <string>

#include "cli/daemon_process.h"

namespace filibuster::cli {

struct Copy {
  const char* format;  // as the API knows it, and the option that names the file
  std::string file;    // "": not wanted
};

// Returns `code`, or kEnvironment where a file that was asked for is missing and nothing else is wrong.
int write_copies(std::span<const Copy> copies, const Daemon& daemon, const std::string& id,
                 int code);

}  // namespace filibuster::cli
