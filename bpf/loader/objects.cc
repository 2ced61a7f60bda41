#include "bpf/loader/objects.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>

#include "bpf/loader/uprobes.h"

// Made by `bpftool gen skeleton`: of each, the bytes of the object are used.
#include "connects.skel.h"
#include "go.skel.h"
#include "listens.skel.h"
#include "observe.skel.h"
#include "probe.skel.h"
#include "sockets.skel.h"
#include "stream.skel.h"

namespace filibuster::bpf {
namespace {

struct ObjectRow {
  const char* name;       // of the file: "connects"
  const char* in_kernel;  // what its internal maps are called after
  const void* (*bytes)(size_t*);
};
constexpr ObjectRow kObjects[] = {
    {"connects", "fb_connects", fb_connects__elf_bytes},
    {"listens", "fb_listens", fb_listens__elf_bytes},
    {"observe", "fb_observe", fb_observe__elf_bytes},
    {"stream", "fb_stream", fb_stream__elf_bytes},
    {"sockets", "fb_sockets", fb_sockets__elf_bytes},
    {"probe", "fb_probe", fb_probe__elf_bytes},
    {"go", "fb_go", fb_go__elf_bytes},
};

bool libbpf_speaks = false;

int said_by_libbpf(libbpf_print_level level, const char* format, va_list arguments) {
  if (!libbpf_speaks || level == LIBBPF_DEBUG) return 0;
  return std::vfprintf(stderr, format, arguments);
}

// Whether this kernel has the place that the program observes.
bool is_there(const std::string& program) {
  const std::string_view step = program_row(program)->step;
  for (const auto& [kind, type] :
       {std::pair{"tp_btf/", BPF_TRACE_RAW_TP}, {"fentry/", BPF_TRACE_FENTRY}}) {
    if (step.starts_with(kind))
      return libbpf_find_vmlinux_btf_id(step.data() + std::string_view(kind).size(), type) > 0;
  }
  return true;
}

}  // namespace

const std::vector<ProgramRow>& program_rows() {
  // clang-format off
  static const std::vector<ProgramRow> rows = {
      {"fb_connect4",     "connects", "cgroup/connect4",              Place::kCgroup},
      {"fb_connect6",     "connects", "cgroup/connect6",              Place::kCgroup},
      {"fb_peername4",    "connects", "cgroup/getpeername4",          Place::kCgroup},
      {"fb_peername6",    "connects", "cgroup/getpeername6",          Place::kCgroup},
      {"fb_source",       "connects", "sockops",                      Place::kCgroup},
      {"fb_listen",       "listens",  "sk_lookup",                    Place::kNetwork},
      {"fb_fork",         "observe",  "tp_btf/sched_process_fork",    Place::kKernel},
      {"fb_exec",         "observe",  "tp_btf/sched_process_exec",    Place::kKernel},
      {"fb_exit",         "observe",  "tp_btf/sched_process_exit",    Place::kKernel},
      {"fb_write_tp",     "observe",  "tp_btf/tcp_sendmsg_locked",    Place::kKernel},
      {"fb_write_fentry", "observe",  "fentry/tcp_sendmsg_locked",    Place::kKernel},
      {"fb_write_msg",    "observe",  "sk_msg",                       Place::kSockets},
      {"fb_write_join",   "observe",  "sockops",                      Place::kCgroup},
      {"fb_read_length",  "observe",  "tp_btf/sock_recv_length",      Place::kKernel},
      {"fb_read_space",   "observe",  "tp_btf/tcp_rcv_space_adjust",  Place::kKernel},
      {"fb_watch_end",    "observe",  "tp_btf/inet_sock_set_state",  Place::kKernel},
      {"fb_end_politely", "stream",   "sk_msg",                       Place::kSockets},
      {"fb_list",         "sockets",  "iter/tcp",                     Place::kIterator},
      {"fb_hit",          "probe",    "uprobe",                       Place::kProgram},
      {"fb_go_start",       "go",       "uprobe/go",                       Place::kProgram},
      {"fb_go_started",     "go",       "uprobe/go",                       Place::kProgram},
      {"fb_go_round_trip",  "go",       "uprobe/go",                       Place::kProgram},
      {"fb_go_read_loop",   "go",       "uprobe/go",                       Place::kProgram},
      {"fb_go_read",        "go",       "uprobe/go",                       Place::kProgram},
      {"fb_go_write_loop",  "go",       "uprobe/go",                       Place::kProgram},
      {"fb_go_http2_call",  "go",       "uprobe/go",                       Place::kProgram},
      {"fb_go_http2_answered", "go",    "uprobe/go",                       Place::kProgram},
      {"fb_go_http2_own",   "go",       "uprobe/go",                       Place::kProgram},
      {"fb_go_http2_begun", "go",       "uprobe/go",                       Place::kProgram},
      {"fb_go_grpc_call",   "go",       "uprobe/go",                       Place::kProgram},
      {"fb_go_grpc_header", "go",       "uprobe/go",                       Place::kProgram},
      {"fb_go_grpc_frame",  "go",       "uprobe/go",                       Place::kProgram},
      {"fb_go_grpc_serve",  "go",       "uprobe/go",                       Place::kProgram},
      {"fb_go_grpc_begin",  "go",       "uprobe/go",                       Place::kProgram},
      {"fb_go_grpc_end",    "go",       "uprobe/go",                       Place::kProgram},
  };
  // clang-format on
  return rows;
}

const ProgramRow* program_row(std::string_view name) {
  const auto& rows = program_rows();
  const auto found =
      std::ranges::find_if(rows, [name](const ProgramRow& row) { return row.name == name; });
  return found == rows.end() ? nullptr : &*found;
}

Outcome Objects::load(const std::vector<std::string>& programs) {
  const ProgramRow& first = *program_row(programs.front());
  const auto object_row = std::ranges::find_if(
      kObjects, [&](const ObjectRow& row) { return std::string_view(row.name) == first.object; });
  bpf_object_open_opts options{};
  options.sz = sizeof(options);
  options.object_name = object_row->in_kernel;
  size_t size = 0;
  const void* bytes = object_row->bytes(&size);
  std::unique_ptr<bpf_object, ObjectDeleter> object(bpf_object__open_mem(bytes, size, &options));
  if (!object) return refused(first.step, errno);

  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object.get()) {
    const ProgramRow* row = program_row(bpf_program__name(program));
    if (row != nullptr && row->place == Place::kProgram) prepare_uprobe(program);
    bpf_program__set_autoload(program,
                              std::ranges::count(programs, bpf_program__name(program)) > 0);
  }
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, object.get()) {
    const auto made = maps_.find(bpf_map__name(map));
    if (made == maps_.end()) continue;
    if (const int error = bpf_map__reuse_fd(map, made->second); error != 0)
      return refused(std::string("map ") + bpf_map__name(map), error);
  }
  if (const int error = bpf_object__load(object.get()); error != 0) {
    const auto nowhere = std::ranges::find_if_not(programs, is_there);
    // libbpf goes on to look in modules, and says that it may not.
    return nowhere == programs.end() ? refused(first.step, error)
                                     : refused(program_row(*nowhere)->step, ESRCH);
  }

  bpf_object__for_each_map(map, object.get()) maps_.emplace(bpf_map__name(map), bpf_map__fd(map));
  bpf_object__for_each_program(program, object.get()) {
    if (bpf_program__autoload(program)) programs_[bpf_program__name(program)] = program;
  }
  objects_.push_back(std::move(object));
  return std::nullopt;
}

Outcome Objects::attach(const std::string& name, int where, Link* link) {
  const ProgramRow& row = *program_row(name);
  bpf_program* loaded = program(name);
  bpf_link* made = nullptr;
  switch (row.place) {
    case Place::kCgroup:
      made = bpf_program__attach_cgroup(loaded, where);
      break;
    case Place::kNetwork:
      made = bpf_program__attach_netns(loaded, where);
      break;
    case Place::kSockets:
      // There is no link of its own: it stays as long as the sockhash.
      if (bpf_prog_attach(bpf_program__fd(loaded), where, BPF_SK_MSG_VERDICT, 0) != 0)
        return refused(row.step, errno);
      return std::nullopt;
    case Place::kKernel:
    case Place::kIterator:
      made = bpf_program__attach(loaded);
      break;
    case Place::kProgram:
      errno = EINVAL;  // attach_uprobes() knows where
      break;
  }
  if (made == nullptr) return refused(row.step, errno);
  link->reset(made);
  return std::nullopt;
}

bpf_program* Objects::program(const std::string& name) const {
  const auto found = programs_.find(name);
  return found == programs_.end() ? nullptr : found->second;
}

int Objects::map(const std::string& name) const {
  const auto found = maps_.find(name);
  return found == maps_.end() ? -1 : found->second;
}

UniqueFd make_map(bpf_map_type type, const char* name, uint32_t key, uint32_t value,
                  uint32_t entries, uint32_t flags) {
  bpf_map_create_opts options{};
  options.sz = sizeof(options);
  options.map_flags = flags;
  return UniqueFd(bpf_map_create(type, name, key, value, entries, &options));
}

void let_libbpf_speak(bool all) {
  libbpf_speaks = all;
  libbpf_set_print(said_by_libbpf);
}

}  // namespace filibuster::bpf
