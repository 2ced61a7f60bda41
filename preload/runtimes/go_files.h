// Which source files of a Go program are not its own.
#pragma once

#include <string_view>

namespace filibuster::preload {

// A file of Go's standard library, of a module that was downloaded, or of a package of Debian; or one that a compiler of
// interfaces has written (*.pb.go).
bool is_go_library_file(std::string_view file);

}  // namespace filibuster::preload
