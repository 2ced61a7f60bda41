// The privileges of the loader: four capabilities, and nothing else of what root may do. Some kernels want one more for
// uprobes, which is in force for as long as they are opened.
#pragma once

#include <string>

namespace filibuster::bpf {

inline constexpr char kSetcapArgument[] = "cap_bpf,cap_net_admin,cap_perfmon,cap_sys_ptrace+ep";

// Gives up every capability but CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON and CAP_SYS_PTRACE; on a kernel
// that does not know the first (before 5.8), CAP_SYS_ADMIN is kept in its place.
void keep_what_is_needed();

// What Debian's kernels want of who opens a uprobe where kernel.perf_event_paranoid is more than 2, as it is there:
// CAP_SYS_ADMIN. keep_what_is_needed() keeps it in reserve then, and this brings it into force while it lives.
class AsAdministrator {
 public:
  AsAdministrator();
  ~AsAdministrator();
  AsAdministrator(const AsAdministrator&) = delete;
  AsAdministrator& operator=(const AsAdministrator&) = delete;

 private:
  bool raised_ = false;
};

// The names of those that are needed and that this process does not have: "CAP_BPF CAP_PERFMON"; "".
std::string missing_capabilities();

}  // namespace filibuster::bpf
