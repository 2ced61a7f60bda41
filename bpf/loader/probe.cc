#include "bpf/loader/probe.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bpf/loader/capabilities.h"
#include "bpf/loader/failure.h"
#include "bpf/loader/kernel.h"
#include "bpf/loader/objects.h"
#include "bpf/loader/rows.h"
#include "bpf/loader/uprobes.h"

namespace filibuster::bpf {

// Where the uprobe of the probe is.
extern "C" __attribute__((noinline, used)) void filibuster_bpf_probed() {
  asm volatile("");
}

namespace {

// The offset in the file of this program that holds the function; 0: not found.
size_t offset_of_probed() {
  struct Search {
    uintptr_t address;
    size_t offset;
  } search{reinterpret_cast<uintptr_t>(&filibuster_bpf_probed), 0};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto* wanted = static_cast<Search*>(data);
        for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
          const auto& segment = info->dlpi_phdr[i];
          const uintptr_t start = info->dlpi_addr + segment.p_vaddr;
          if (segment.p_type == PT_LOAD && wanted->address >= start &&
              wanted->address < start + segment.p_memsz)
            wanted->offset = wanted->address - start + segment.p_offset;
        }
        return 1;  // the first is the program itself
      },
      &search);
  return search.offset;
}

Outcome try_capabilities() {
  const std::string missing = missing_capabilities();
  return missing.empty() ? Outcome() : refused("capabilities", EPERM);
}

Outcome try_btf() {
  return access("/sys/kernel/btf/vmlinux", R_OK) == 0 ? Outcome() : refused("BTF", errno);
}

// A descriptor of the cgroup2 mount.
Outcome open_cgroup(UniqueFd* cgroup) {
  const std::string mount = cgroup2_mount(text_of("/proc/mounts"));
  if (mount.empty()) return refused("cgroup2 mount", ENOENT);
  *cgroup = UniqueFd(open(mount.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return cgroup->valid() ? Outcome() : refused("cgroup2 mount", errno);
}

Outcome try_cgroup_mount() {
  UniqueFd cgroup;
  return open_cgroup(&cgroup);
}

Outcome try_ring() {
  return make_map(BPF_MAP_TYPE_RINGBUF, "fb_probe", 0, 0, kRingBytes).valid()
             ? Outcome()
             : refused("ring buffer", errno);
}

// Loads these programs and attaches each; all is gone when this returns.
Outcome try_programs(const std::vector<std::string>& programs) {
  Objects objects;
  if (Outcome failed = objects.load(programs)) return failed;
  std::vector<Link> links(programs.size());
  for (size_t i = 0; i < programs.size(); ++i) {
    UniqueFd place;
    int where = -1;
    switch (program_row(programs[i])->place) {
      case Place::kCgroup:
        if (Outcome failed = open_cgroup(&place)) return failed;
        where = place.get();
        break;
      case Place::kNetwork:
        place = UniqueFd(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
        where = place.get();
        break;
      case Place::kSockets:
        where = objects.map(programs[i] == "fb_write_msg" ? "fb_writers" : "fb_open_before");
        break;
      case Place::kKernel:
      case Place::kIterator:
      case Place::kProgram:
        break;
    }
    if (Outcome failed = objects.attach(programs[i], where, &links[i])) return failed;
  }
  return std::nullopt;
}

// Loads a program alone, and attaches it where that needs nothing else.
Outcome try_program(const ProgramRow& row) {
  if (row.place != Place::kProgram) return try_programs({row.name});
  Objects objects;
  return objects.load({row.name});
}

Outcome try_iterator() {
  Objects objects;
  if (Outcome failed = objects.load({"fb_list"})) return failed;
  Link link;
  if (Outcome failed = objects.attach("fb_list", -1, &link)) return failed;
  const UniqueFd file(bpf_iter_create(bpf_link__fd(link.get())));
  char buffer[64];
  return file.valid() && read(file.get(), buffer, sizeof(buffer)) >= 0 ? Outcome()
                                                                       : refused("iter/tcp", errno);
}

// Asks for a descriptor of whoever started us, as of a process that is to be attached.
Outcome try_pidfd_getfd() {
  const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, getppid(), 0)));
  if (!process.valid()) return refused("pidfd_getfd", errno);
  const UniqueFd copy(static_cast<int>(syscall(SYS_pidfd_getfd, process.get(), 0, 0)));
  return copy.valid() || errno == EBADF ? Outcome() : refused("pidfd_getfd", errno);
}

Outcome try_uprobe() {
  Objects objects;
  if (Outcome failed = objects.load({"fb_hit"})) return failed;
  Uprobes uprobes;
  if (Outcome failed = attach_uprobes(objects.program("fb_hit"), "/proc/self/exe",
                                      {offset_of_probed()}, getpid(), &uprobes))
    return failed;
  filibuster_bpf_probed();
  const uint32_t zero = 0;
  uint32_t hits = 0;
  bpf_map_lookup_elem(objects.map("fb_hits"), &zero, &hits);
  return hits == 1 ? Outcome()
                   : declined("uprobe", ENOSYS, "the place was passed, and nothing was seen");
}

struct ProbeRow {
  const char* feature;
  std::function<Outcome()> attempt;
};

std::vector<ProbeRow> rows() {
  const auto programs = [](std::vector<std::string> names) {
    return [names = std::move(names)] { return try_programs(names); };
  };
  return {
      {"capabilities", try_capabilities},
      {"BTF", try_btf},
      {"cgroup2 mount", try_cgroup_mount},
      {"ring buffer", try_ring},
      {"cgroup/connect", programs({"fb_connect4", "fb_connect6"})},
      {"cgroup/getpeername", programs({"fb_peername4", "fb_peername6"})},
      {"sockops", programs({"fb_source"})},
      {"sk_lookup", programs({"fb_listen"})},
      {"sk_msg", programs({"fb_end_politely"})},
      {"tp_btf processes", programs({"fb_fork", "fb_exec", "fb_exit"})},
      {"tp_btf writes", programs({"fb_write_tp"})},
      {"fentry writes", programs({"fb_write_fentry"})},
      {"sk_msg writes", programs({"fb_write_msg", "fb_write_join"})},
      {"tp_btf reads", programs({"fb_read_length"})},
      {"tp_btf reads without their size", programs({"fb_read_space"})},
      {"iter/tcp", try_iterator},
      {"pidfd_getfd", try_pidfd_getfd},
      {"uprobe", try_uprobe},
  };
}

}  // namespace

int probe() {
  auto answers = nlohmann::ordered_json::array();
  for (const ProbeRow& row : rows()) {
    const Outcome failed = row.attempt();
    nlohmann::ordered_json answer;
    answer["feature"] = row.feature;
    answer["works"] = !failed.has_value();
    answer["answer"] = failed ? std::strerror(failed->error) : "works";
    answer["what_to_do"] = failed ? advice(failed->step, failed->error) : "";
    answers.push_back(std::move(answer));
  }
  std::puts(answers.dump(2).c_str());
  return 0;
}

int probe_programs() {
  auto answers = nlohmann::ordered_json::array();
  for (const ProgramRow& row : program_rows()) {
    const Outcome failed = try_program(row);
    answers.push_back({{"program", row.name},
                       {"place", row.step},
                       {"works", !failed.has_value()},
                       {"answer", failed ? std::strerror(failed->error) : "works"}});
  }
  std::puts(answers.dump(2).c_str());
  return 0;
}

}  // namespace filibuster::bpf
