// Where the probes of bpf/go.bpf.c belong in one Go program. Pure: from the bytes of its file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/program/elf_memory.h"
#include "core/result.h"

namespace filibuster::bpf {

struct GoSite {
  std::string_view program;  // of go.bpf.c: "fb_go_round_trip"
  uint64_t offset = 0;       // in the file
};

struct GoSites {
  std::string version;    // "go1.19.8"
  uint32_t goid = 0;      // offset of a goroutine's number in g
  int32_t g_from_fs = 0;  // where a thread has its g; 0: not known
  // Of which requests over TLS the probes tell all: where they begin, and how they are answered.
  bool tells_http1 = false;
  bool tells_http2 = false;
  std::vector<GoSite> sites;
  std::vector<std::string> notes;  // what does not hold in this program, a sentence each
};

// The error says why nothing of it is known: no Go program, or a version whose goroutines are not known.
Result<GoSites> find_go_sites(std::string_view bytes);

}  // namespace filibuster::bpf
