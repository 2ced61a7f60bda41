// What this machine's kernel is like: where cgroup2 is mounted, whether it is locked down, how a process
// is seen from outside. What is read is parsed by pure functions, which take the text.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace filibuster::bpf {

// The mount point of the first cgroup2 file system in the text of /proc/mounts; "": there is none.
// (Of a hybrid layout it is not /sys/fs/cgroup.)
std::string cgroup2_mount(std::string_view mounts);

// The word in brackets of /sys/kernel/security/lockdown ("none [integrity] confidentiality"); "".
std::string lockdown_mode_of(std::string_view text);
std::string lockdown_mode();

// Field 22 of the text of /proc/PID/stat, in which the name of the program may contain anything.
std::optional<uint64_t> start_time_of(std::string_view stat);

// The value of a line of /proc/PID/status: "FDSize" -> "256"; "": there is no such line.
std::string status_field(std::string_view status, std::string_view name);

// The whole text of a file; "": it cannot be read.
std::string text_of(const std::string& path);

std::string proc_file(pid_t pid, const char* name);  // "/proc/4711/stat"

// The inode of a namespace, by which it is known; 0: it cannot be seen.
uint64_t namespace_of(pid_t pid, const char* kind);
uint64_t namespace_of_descriptor(int fd);

}  // namespace filibuster::bpf
