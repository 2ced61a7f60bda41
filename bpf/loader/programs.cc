#include "bpf/loader/programs.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "bpf/loader/capabilities.h"
#include "bpf/loader/kernel.h"
#include "bpf/loader/rows.h"

namespace filibuster::bpf {
namespace {

const std::vector<std::string> kConnects = {"fb_connect4", "fb_connect6", "fb_peername4",
                                            "fb_peername6", "fb_source"};
const std::vector<std::string> kProcesses = {"fb_fork", "fb_exec", "fb_exit"};
constexpr char kBtf[] = "/sys/kernel/btf/vmlinux";

}  // namespace

const std::vector<Way>& ways_to_see_writes() {
  static const std::vector<Way> ways = {{"tracepoint", {"fb_write_tp"}},
                                        {"fentry", {"fb_write_fentry"}},
                                        {"sk_msg", {"fb_write_msg", "fb_write_join"}}};
  return ways;
}

const std::vector<Way>& ways_to_see_reads() {
  static const std::vector<Way> ways = {{"tracepoint", {"fb_read_length"}},
                                        {"space", {"fb_read_space"}}};
  return ways;
}

Outcome Programs::start() {
  if (started_) return std::nullopt;
  if (objects_) {
    if (Outcome failed = attach_all(chosen_)) {
      stop();
      return failed;
    }
    started_ = true;
    return std::nullopt;
  }
  if (access(kBtf, R_OK) != 0) return refused("BTF", errno);
  const std::string mount = cgroup2_mount(text_of("/proc/mounts"));
  if (mount.empty()) return refused("cgroup2 mount", ENOENT);
  cgroup_ = UniqueFd(open(mount.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!cgroup_.valid()) return refused("cgroup2 mount", errno);
  objects_ = std::make_unique<Objects>();
  if (Outcome failed = load_all()) {
    unload();
    return failed;
  }
  started_ = true;
  return std::nullopt;
}

Outcome Programs::load_all() {
  if (Outcome failed = objects_->load(kConnects)) return failed;
  if (Outcome failed = objects_->load({"fb_listen"})) return failed;
  if (Outcome failed = objects_->load({"fb_list"})) return failed;
  if (Outcome failed = load_stream()) return failed;
  if (Outcome failed = load_observation()) return failed;
  if (Outcome failed = check_rows()) return failed;
  chosen_.insert(chosen_.end(), kConnects.begin(), kConnects.end());
  return attach_all(kConnects);
}

Outcome Programs::check_rows() const {
  struct Row {
    const char* map;
    size_t size;
  };
  static constexpr Row kRows[] = {{"fb_slots", sizeof(SlotRow)},
                                  {"fb_tasks_of", sizeof(TasksRow)},
                                  {"fb_outbound", sizeof(OutboundRow)},
                                  {"fb_kept", sizeof(KeptRow)}};
  for (const Row& row : kRows) {
    bpf_map_info info{};
    uint32_t size = sizeof(info);
    if (bpf_obj_get_info_by_fd(objects_->map(row.map), &info, &size) != 0)
      return refused(row.map, errno);
    if (info.value_size != row.size)
      return declined(row.map, EPROTO,
                      "filibuster-bpf was built of parts that do not fit together");
  }
  return std::nullopt;
}

Outcome Programs::load_observation() {
  notes_.clear();
  chosen_ = kProcesses;
  // Where all of the best ways work, one load is faster than three.
  std::vector<std::string> best = kProcesses;
  for (const auto* ways : {&ways_to_see_writes(), &ways_to_see_reads()})
    best.insert(best.end(), ways->front().programs.begin(), ways->front().programs.end());
  best.emplace_back("fb_watch_end");
  if (only_writes_.empty() && !objects_->load(best)) {
    chosen_ = best;
    return attach_all(best);
  }
  if (Outcome failed = objects_->load(kProcesses)) return failed;
  if (Outcome failed = attach_all(kProcesses)) return failed;
  Outcome last;
  if (!take(ways_to_see_writes(), only_writes_, &last))
    notes_ += "who writes cannot be seen (" + last->step + ": " + last->text + "). ";
  if (!take(ways_to_see_reads(), "", &last))
    notes_ += "who reads cannot be seen (" + last->step + ": " + last->text + "). ";
  return std::nullopt;
}

Outcome Programs::load_stream() {
  if (Outcome failed = objects_->load({"fb_end_politely"})) return failed;
  return objects_->attach("fb_end_politely", objects_->map("fb_open_before"), nullptr);
}

Outcome Programs::attach_all(const std::vector<std::string>& programs) {
  for (const std::string& program : programs) {
    if (links_.contains(program)) continue;
    const int where = program == "fb_write_msg" ? objects_->map("fb_writers") : cgroup_.get();
    Link link;
    if (Outcome failed = objects_->attach(program, where, &link)) return failed;
    links_[program] = std::move(link);
  }
  return std::nullopt;
}

bool Programs::take(const std::vector<Way>& ways, const std::string& only, Outcome* last) {
  last->reset();
  for (const Way& way : ways) {
    if (!only.empty() && only != way.name) continue;
    Outcome failed = objects_->load(way.programs);
    if (!failed) failed = attach_all(way.programs);
    if (!failed) {
      chosen_.insert(chosen_.end(), way.programs.begin(), way.programs.end());
      return true;
    }
    for (const std::string& program : way.programs) links_.erase(program);
    if (!*last) *last = failed;
  }
  if (!*last) *last = declined("observe", ENOENT, "there is no such way: " + only);
  return false;
}

Outcome Programs::steer(uint64_t network, int network_fd) {
  Steering& steering = steered_[network];
  if (steering.users == 0) {
    if (Outcome failed = objects_->attach("fb_listen", network_fd, &steering.link)) {
      steered_.erase(network);
      return failed;
    }
  }
  ++steering.users;
  return std::nullopt;
}

void Programs::unsteer(uint64_t network) {
  const auto found = steered_.find(network);
  if (found != steered_.end() && --found->second.users == 0) steered_.erase(found);
}

void Programs::stop() {
  std::erase_if(links_, [](const auto& row) {
    // What has no link stays with its sockhash.
    return row.second && row.first != "fb_peername4" && row.first != "fb_peername6";
  });
  steered_.clear();
  started_ = false;
}

void Programs::unload() {
  links_.clear();
  chosen_.clear();
  steered_.clear();
  objects_.reset();
  cgroup_.reset();
  started_ = false;
}

}  // namespace filibuster::bpf
