#include "bpf/loader/go_probes.h"

#include <bpf/bpf.h>

#include <map>

#include "bpf/loader/go/sites.h"
#include "bpf/loader/kernel.h"
#include "core/program/elf_memory.h"
#include "core/program/go_program.h"
#include "core/program/whole_file.h"

namespace filibuster::bpf {
namespace {

constexpr char kObject[] = "go";

Outcome load(Objects& objects) {
  std::vector<std::string> names;
  for (const ProgramRow& row : program_rows()) {
    if (std::string_view(row.object) == kObject) names.emplace_back(row.name);
  }
  if (objects.program(names.front()) != nullptr) return std::nullopt;
  return objects.load(names);
}

}  // namespace

GoProbes probe_go_program(Objects& objects, pid_t process) {
  GoProbes made;
  const std::string file = proc_file(process, "exe");
  const std::string bytes = whole_file(file);
  const auto program = ElfMemory::read(bytes);
  made.go = program && read_go_program(*program);
  if (!made.go) return made;
  const Result<GoSites> sites = find_go_sites(bytes);
  if (!sites) {
    made.notes = "goroutines are not told apart: " + sites.error().message + ". ";
    return made;
  }
  for (const std::string& note : sites->notes) made.notes += note + ". ";
  if (sites->g_from_fs != 0) {
    made.tasks = {sites->g_from_fs, sites->goid};
    made.tasks.told = (sites->tells_http1 ? kToldHttp1 : 0) | (sites->tells_http2 ? kToldHttp2 : 0);
  }
  // The programs ask for this row, and must find it before the first hit.
  const auto tgid = static_cast<uint32_t>(process);
  if (bpf_map_update_elem(objects.map("fb_tasks_of"), &tgid, &made.tasks, BPF_ANY) != 0)
    return made;
  Outcome failed = load(objects);
  std::map<std::string_view, std::vector<uint64_t>> offsets;
  for (const GoSite& site : sites->sites) offsets[site.program].push_back(site.offset);
  for (const auto& [name, places] : offsets) {
    if (failed) break;
    Uprobes probes;
    failed = attach_uprobes(objects.program(std::string(name)), file, places, process, &probes);
    if (!failed) made.probes.push_back(std::move(probes));
  }
  if (failed) {
    // All or none: what only some of the programs see would be told of the wrong goroutine.
    made.probes.clear();
    made.tasks.told = 0;
    made.notes += "who calls in the goroutines of a Go program cannot be seen (" + failed->step +
                  ": " + failed->text + "). ";
  }
  return made;
}

}  // namespace filibuster::bpf
