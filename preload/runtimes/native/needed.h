// Which libraries a loaded library was linked with.
#pragma once

#include <string_view>

namespace filibuster::preload {

// Is `name` (as "libssl.so.3") among the libraries that the one at `path`, which is loaded, needs itself?
bool library_needs(const char* path, std::string_view name);

}  // namespace filibuster::preload
