// What the kernel keeps of a process besides its memory and its descriptors, as far as a process can change it.
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace filibuster::preload::reset {

// struct sigaction of the kernel (rt_sigaction(2)).
struct KernelAction {
  uint64_t handler, flags, restorer, mask;
};

struct KernelState {
  static constexpr int kSignals = 64;
  static constexpr int kNumbers = 20;
  static constexpr int kNamespaces = 8;
  static constexpr int kLimits = 16;
  // Given back:
  KernelAction actions[kSignals];
  stack_t alternate_stack;
  uint64_t directory_device, directory_inode;
  long umask;
  char name[16];
  // Compared:
  char status[2048];  // the lines of /proc/self/status that tell of it
  uint32_t status_size;
  long numbers[kNumbers];
  uint64_t root_device, root_inode;
  uint64_t namespaces[kNamespaces];
  rlimit64 limits[kLimits];
};

// Blocks nothing: the caller has blocked all signals. False: it cannot be asked for.
bool read_kernel_state(KernelState* out);
// What of it differs and is not given back: "its limits have changed"; nullptr: nothing.
const char* difference_of(const KernelState& before, const KernelState& now);
// `sibling` is in the directory of before. The text: what cannot be given back.
const char* give_back_kernel_state(const KernelState& before, const KernelState& now,
                                   pid_t sibling);

// It has made processes, or they are there still, or it has timers: not the process that began at 'go' any more.
const char* what_it_leaves();

}  // namespace filibuster::preload::reset
