// Where a function of machine code (x86-64) returns, and where it calls another one. Debian's capstone decodes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace filibuster::bpf {

// `code` is the whole function, which begins at `address`. An error if a byte of it cannot be decoded: a probe between two
// instructions would break the program.
Result<std::vector<uint64_t>> return_instructions(std::string_view code, uint64_t address);
Result<std::vector<uint64_t>> calls_to(uint64_t target, std::string_view code, uint64_t address);
// The displacement of the first read that is relative to the thread's base (FS) and negative; nullopt: none.
std::optional<int32_t> thread_displacement(std::string_view code, uint64_t address);

}  // namespace filibuster::bpf
