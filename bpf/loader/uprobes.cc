#include "bpf/loader/uprobes.h"

#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "bpf/loader/capabilities.h"

namespace filibuster::bpf {
namespace {

// Newer than the headers of Debian 12 (linux/bpf.h of 6.6).
constexpr uint32_t kUprobeMulti = 48;  // BPF_TRACE_UPROBE_MULTI
struct CreateUprobeMulti {
  uint32_t program = 0;
  uint32_t target = 0;
  uint32_t attach_type = kUprobeMulti;
  uint32_t flags = 0;
  uint64_t path = 0;
  uint64_t offsets = 0;
  uint64_t reference_offsets = 0;
  uint64_t cookies = 0;
  uint32_t count = 0;
  uint32_t probe_flags = 0;
  uint32_t process = 0;
  uint32_t padding = 0;
};

}  // namespace

void prepare_uprobe(bpf_program* program) {
  // Older kernels do not look at it.
  bpf_program__set_expected_attach_type(program, static_cast<bpf_attach_type>(kUprobeMulti));
}

Outcome attach_uprobes(bpf_program* program, const std::string& file,
                       const std::vector<uint64_t>& offsets, pid_t process, Uprobes* made) {
  CreateUprobeMulti request;
  request.program = static_cast<uint32_t>(bpf_program__fd(program));
  request.path = reinterpret_cast<uint64_t>(file.c_str());
  request.offsets = reinterpret_cast<uint64_t>(offsets.data());
  request.count = static_cast<uint32_t>(offsets.size());
  request.process = static_cast<uint32_t>(process);
  made->list =
      UniqueFd(static_cast<int>(syscall(SYS_bpf, BPF_LINK_CREATE, &request, sizeof(request))));
  if (made->list.valid()) return std::nullopt;
  // EINVAL: the kernel does not know such a list.
  if (errno != EINVAL) return refused("uprobe", errno);
  const AsAdministrator open_events;
  for (const uint64_t offset : offsets) {
    Link link(bpf_program__attach_uprobe(program, false, process == 0 ? -1 : process, file.c_str(),
                                         offset));
    if (!link) {
      made->events.clear();
      return refused("uprobe", errno);
    }
    made->events.push_back(std::move(link));
  }
  return std::nullopt;
}

}  // namespace filibuster::bpf
