// Functions of the image that the kernel maps into each process (vdso(7)), found without libc: a library that is loaded
// before libc may have put its own in their place.
#pragma once

#include <cstdint>
#include <string_view>

namespace filibuster {

// The address of the function `name` in the ELF image that is mapped at `image` (AT_SYSINFO_EHDR); nullptr: there is none. The
// kernel made the image, so its tables are believed.
const void* vdso_function(const void* image, std::string_view name);

}  // namespace filibuster
