// The privileges of the loader: four capabilities, and nothing else of what root may do.
#pragma once

#include <string>

namespace filibuster::bpf {

inline constexpr char kSetcapArgument[] = "cap_bpf,cap_net_admin,cap_perfmon,cap_sys_ptrace+ep";

// Gives up every capability but CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON and CAP_SYS_PTRACE; on a kernel
// that does not know the first (before 5.8), CAP_SYS_ADMIN is kept in its place.
void keep_what_is_needed();

// The names of those that are needed and that this process does not have: "CAP_BPF CAP_PERFMON"; "".
std::string missing_capabilities();

}  // namespace filibuster::bpf
