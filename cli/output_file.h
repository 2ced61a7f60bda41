// Files that the command writes where its user says.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"

namespace filibuster::cli {

// Writes the file, and cuts off what it had before. Devices and pipes are written to as they are.
// Error: the file is not whole.
Result<void> write_output(const std::string& path, std::string_view text);
// Puts a new file in the place of the old one, which stays as it is if that fails. A symbolic link
// stays: the file that it leads to is replaced.
Result<void> replace_file(const std::string& path, std::string_view text);

}  // namespace filibuster::cli
