// The eBPF programs and maps of a session, as they are in the kernel. All of it lives in descriptors of this
// process: its end, however it comes, takes everything away.
//
// Each object (bpf/*.bpf.c) declares the maps that it uses (bpf/maps.bpf.h). The first that is loaded makes
// a map, and the later ones get it by its name.
#pragma once

#include <bpf/libbpf.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bpf/loader/failure.h"
#include "daemon/base/descriptors.h"

namespace filibuster::bpf {

// Where a program is attached.
enum class Place : uint8_t {
  kCgroup,    // the root of cgroup2
  kNetwork,   // the network namespace of the attached processes
  kKernel,    // a place in the kernel (tp_btf, fentry)
  kSockets,   // the sockets of a sockhash (sk_msg)
  kIterator,  // is run when it is asked for
  kProgram,   // a place in a program (uprobe)
};

struct ProgramRow {
  const char* name;    // of the function: "fb_connect4"
  const char* object;  // "connects"
  const char* step;    // as people are told: "cgroup/connect4"
  Place place;
};
// All of them. Null: there is no such program.
const std::vector<ProgramRow>& program_rows();
const ProgramRow* program_row(std::string_view name);

struct LinkDeleter {
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};
using Link = std::unique_ptr<bpf_link, LinkDeleter>;

class Objects {
 public:
  Objects() = default;
  Objects(const Objects&) = delete;
  Objects& operator=(const Objects&) = delete;

  // Loads these programs of one object; what was loaded before stays.
  Outcome load(const std::vector<std::string>& programs);

  // Attaches a loaded program. `where`: a descriptor of the cgroup, the namespace, or the sockhash.
  Outcome attach(const std::string& program, int where, Link* link);

  bpf_program* program(const std::string& name) const;  // null: not loaded
  int map(const std::string& name) const;               // -1: there is none

 private:
  struct ObjectDeleter {
    void operator()(bpf_object* object) const { bpf_object__close(object); }
  };
  std::vector<std::unique_ptr<bpf_object, ObjectDeleter>> objects_;
  std::map<std::string, bpf_program*> programs_;
  std::map<std::string, int> maps_;
};

// A map of its own; the descriptor is not valid, and errno is set, if the kernel refuses.
UniqueFd make_map(bpf_map_type type, const char* name, uint32_t key, uint32_t value,
                  uint32_t entries, uint32_t flags = 0);

// What libbpf says goes to stderr with this, and nowhere without it.
void let_libbpf_speak(bool all);

}  // namespace filibuster::bpf
