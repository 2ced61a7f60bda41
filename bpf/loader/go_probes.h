// The probes in one attached Go program (bpf/go.bpf.c). They live as long as this.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "bpf/loader/objects.h"
#include "bpf/loader/rows.h"
#include "bpf/loader/uprobes.h"

namespace filibuster::bpf {

struct GoProbes {
  bool go = false;  // else it is no Go program, and nothing of this holds
  std::vector<Uprobes> probes;
  // How to find the number of a goroutine. Where something is not known, goid is 0, and no goroutine is taken for another.
  TasksRow tasks;
  // What does not hold: sentences for people; empty: nothing. Calls are then attributed as in any other program.
  std::string notes;
};

// The programs of go.bpf.c are loaded the first time that they are needed.
GoProbes probe_go_program(Objects& objects, pid_t process);

}  // namespace filibuster::bpf
