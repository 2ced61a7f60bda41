// Probes in programs: at offsets of a file, in one process or in all that run it.
//
// Linux 6.6 and later attach a whole list at once, for who has CAP_BPF and CAP_PERFMON. Before, each place is
// a perf event. (Later kernels want CAP_SYS_ADMIN for such an event, and have the list.)
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bpf/loader/failure.h"
#include "bpf/loader/objects.h"
#include "daemon/base/descriptors.h"

namespace filibuster::bpf {

// The probes live as long as this.
struct Uprobes {
  UniqueFd list;
  std::vector<Link> events;
};

// Attaches a loaded program of Place::kProgram. `process`: 0 is every process that runs the file.
Outcome attach_uprobes(bpf_program* program, const std::string& file,
                       const std::vector<uint64_t>& offsets, pid_t process, Uprobes* made);

// What a program of Place::kProgram must be told before it is loaded.
void prepare_uprobe(bpf_program* program);

}  // namespace filibuster::bpf
