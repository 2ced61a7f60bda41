// What a child that is reset and its siblings share: what is recorded of the child at 'go', room to work in, and what became
// of it. The memory is shared, so that giving back the private memory leaves it alone.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

#include "core/protocol/snapshot.h"
#include "preload/snapshot/reset/kernel_state.h"
#include "preload/snapshot/reset/mark.h"

namespace filibuster::preload::reset {

inline constexpr uint64_t kPage = 4096;
inline constexpr size_t kRseqBytes = 32;  // struct rseq (rseq(2))

struct Mapping {
  enum class Kind : uint8_t {
    kOrdinary,
    kStack,   // grows by itself
    kKernel,  // [vdso] and the like, which no process writes
  };
  uint64_t from, to;
  uint64_t offset, inode;
  uint64_t device;  // as /proc/self/maps writes it, major and minor
  int rights;       // PROT_*
  bool shared;
  Kind kind;
  bool is_anonymous() const { return inode == 0 && !shared; }
};

struct MappingList {
  static constexpr uint32_t kMost = 4096;
  Mapping list[kMost];
  uint32_t count;
};

// Pages in a row that are the process's own, and not those of a file.
struct Run {
  uint64_t from, to;
};

struct KeptDescriptor {
  int fd;
  bool closes_on_exec;
};

struct Arena {
  static constexpr uint32_t kMostRuns = 1 << 15;
  static constexpr uint32_t kMostDescriptors = 256;
  static constexpr uint32_t kMostParts = 512;
  static constexpr uint32_t kEntries = 1 << 14;

  // --- as at 'go' ---
  pid_t server;  // the parent of both of them
  pid_t child, pristine;
  rlim64_t cpu_limit;
  int channel;
  uint64_t channel_inode;
  Mark mark;
  KernelState kernel;
  uint64_t program_break;
  uint64_t own_page;  // is wiped on fork; it is left as it is
  uint64_t
      tell_tale;  // a page that is written first of all: whoever shares it was forked afterwards
  uint64_t rseq;  // the kernel writes there at its own times (rseq(2)); 0: nowhere
  MappingList mappings;
  Run runs[kMostRuns];
  uint32_t run_count;
  KeptDescriptor descriptors[kMostDescriptors];
  uint32_t descriptor_count;

  // --- what became of it ---
  int32_t status;   // of the exit that is going on
  uint32_t resets;  // how many succeeded
  NotReset refusal;
  char why[kWhyNotReset];

  // --- room to work in ---
  KernelState kernel_now;
  MappingList mappings_now;
  uint64_t entries[kEntries];
  iovec parts[kMostParts];
  uint32_t part_count;
  alignas(16) uint8_t page[16 * kPage];
  alignas(16) char stack[64 * 1024];
  alignas(16) char pristine_stack[16 * 1024];
};

// Notes why, once. Returns false.
bool refuse(Arena* arena, NotReset refusal, const char* why);

}  // namespace filibuster::preload::reset
