// Where the number of the running goroutine stands in the memory of a Go program.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bpf/loader/rows.h"

namespace filibuster::bpf {

// "go1.19.8", out of the bytes of a program (its build information, debug/buildinfo); "": not found.
std::string go_version_in(std::string_view program);

// The offset of goid in the runtime's struct g; nullopt: of this version it is not known.
std::optional<uint32_t> goid_offset(std::string_view version);

// Where g is, from the thread's FS base; nullopt: it cannot be told from the program's headers.
std::optional<int32_t> g_offset_in(std::string_view program);

// Of a process. Where something is not known, goid is 0, and no goroutine is taken for another.
TasksRow go_tasks(pid_t process);

}  // namespace filibuster::bpf
