#include "bpf/loader/attachment.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <thread>

#include "bpf/loader/foreign_sockets.h"
#include "bpf/loader/kernel.h"
#include "bpf/loader/rows.h"

namespace filibuster::bpf {
namespace {

constexpr size_t kOutbound4 = 0, kOutbound6 = 1, kInbound4 = 2, kInbound6 = 3;

// Does all of this at the same time: to change a map of maps is to wait until no program uses the old one.
template <typename... Work>
void at_once(Work... work) {
  std::vector<std::jthread> threads;
  (threads.emplace_back(work), ...);
}

std::string pid_text(pid_t process) {
  return "pid " + std::to_string(process);
}

}  // namespace

Outcome Attachment::check_process(pid_t process, uint64_t start_time,
                                  const std::set<pid_t>& never) {
  const auto started = start_time_of(text_of(proc_file(process, "stat")));
  if (!started) return declined("pid", ESRCH, pid_text(process) + " does not run any more");
  if (*started != start_time)
    return declined(
        "pid", ESRCH,
        pid_text(process) + " is another process by now: the one that was meant has ended");
  if (never.contains(process))
    return declined("pid", EINVAL, pid_text(process) + " is a part of Filibuster itself");
  const std::string status = text_of(proc_file(process, "status"));
  if (getuid() != 0) {
    // With capabilities of its own, the loader must not lend them to whoever calls it.
    const std::string mine = std::to_string(getuid());
    if (status_field(status, "Uid") != mine + "\t" + mine + "\t" + mine + "\t" + mine)
      return declined("pid", EPERM,
                      pid_text(process) + " belongs to another user: attach it as root");
  }
  if (status_field(status, "Tgid") != std::to_string(process))
    return declined("pid", EINVAL, pid_text(process) + " is a thread: name its process");
  const uint64_t network = namespace_of(process, "net");
  if (network == 0) return refused("pid", errno);
  if (network_ != 0 && network_ != network)
    return declined("pid", EINVAL,
                    pid_text(process) +
                        " is in another network namespace than the other processes "
                        "of the service: attach them as services of their own");
  network_ = network;
  return std::nullopt;
}

Outcome Attachment::claim(const AttachRequest& request, const std::set<pid_t>& never) {
  service_ = std::string(request.service, strnlen(request.service, sizeof(request.service)));
  for (uint32_t i = 0; i < request.pid_count; ++i) {
    const pid_t process = request.pids[i];
    if (processes_.contains(process)) continue;
    if (Outcome failed = check_process(process, request.start_times[i], never)) return failed;
    if (Outcome failed = claims_.claim(process)) return failed;
    processes_.insert(process);
  }
  return std::nullopt;
}

Outcome Attachment::attach(const AttachRequest& request, const std::vector<UniqueFd>& listeners) {
  wanted_ports_.assign(request.ports, request.ports + request.port_count);
  watches_ = (request.flags & kAttachWatch) != 0 && programs_.sees_bytes();
  if (Outcome failed = check_ports()) return failed;
  if (Outcome failed = take_listeners(listeners)) return failed;
  if (Outcome failed = make_maps()) return failed;
  if (Outcome failed = fill_slot(listeners)) return failed;
  if (Outcome failed = fill_ports()) return failed;
  const UniqueFd network(
      open(proc_file(*processes_.begin(), "ns/net").c_str(), O_RDONLY | O_CLOEXEC));
  if (!network.valid()) return refused("sk_lookup", errno);
  if (!watches_) {
    if (Outcome failed = programs_.steer(network_, network.get())) return failed;
    steered_ = true;
  }
  // From here on the kernel redirects.
  return fill_processes((request.flags & kAttachGo) != 0);
}

Outcome Attachment::take_listeners(const std::vector<UniqueFd>& listeners) {
  for (const UniqueFd& listener : listeners) {
    const uint16_t port = listening_port(listener.get());
    if (port == 0)
      return declined("listeners", EINVAL, "the proxy gave a descriptor that does not listen");
    const UniqueFd network(ioctl(listener.get(), SIOCGSKNS));
    if (network.valid() && namespace_of_descriptor(network.get()) != network_)
      return declined("listeners", EINVAL,
                      service_ +
                          " runs in another network namespace than its proxy: start "
                          "Filibuster in there (nsenter --net)");
    listener_ports_.push_back(port);
  }
  return std::nullopt;
}

Outcome Attachment::make_maps() {
  ring_ = make_map(BPF_MAP_TYPE_RINGBUF, "fb_ring", 0, 0, kRingBytes);
  if (!ring_.valid()) return refused("ring buffer", errno);
  originals_ = make_map(BPF_MAP_TYPE_LRU_HASH, "fb_original", sizeof(fb_address),
                        sizeof(fb_address), kOriginals);
  if (!originals_.valid()) return refused("map originals", errno);
  bypass_ = make_map(BPF_MAP_TYPE_HASH, "fb_bypassed", sizeof(uint16_t), sizeof(uint8_t), kBypassed,
                     BPF_F_NO_PREALLOC);
  if (!bypass_.valid()) return refused("map bypass", errno);
  return std::nullopt;
}

Outcome Attachment::fill_slot(const std::vector<UniqueFd>& listeners) {
  const bool six = listeners.size() > 2;
  const size_t inbound4 = six ? kInbound4 : 1;
  const auto set = [&](const char* map, const auto& key, const auto& value) {
    return bpf_map_update_elem(programs_.map(map), &key, &value, BPF_ANY) == 0;
  };
  const int ring = ring_.get(), originals = originals_.get(), bypass = bypass_.get();
  std::atomic<int> error = 0;
  const auto put = [&](const char* map, int descriptor) {
    if (!set(map, slot_, descriptor)) error = errno;
  };
  at_once([&] { put("fb_rings", ring); }, [&] { put("fb_originals", originals); },
          [&] { put("fb_bypass", bypass); });
  if (error != 0) return refused("map of maps", error);
  const uint32_t index4 = 2 * slot_, index6 = 2 * slot_ + 1;
  const auto socket4 = static_cast<uint64_t>(listeners[inbound4].get());
  if (!set("fb_inbound", index4, socket4)) return refused("sockmap", errno);
  if (six && !set("fb_inbound", index6, static_cast<uint64_t>(listeners[kInbound6].get())))
    return refused("sockmap", errno);
  if (!set("fb_lost", slot_, uint64_t{0})) return refused("map fb_lost", errno);
  const uint8_t yes = 1;
  for (const uint16_t port : listener_ports_) {
    if (!set("fb_spared", port, yes)) return refused("map fb_spared", errno);
  }
  const SlotRow row{1, listener_ports_[kOutbound4], six ? listener_ports_[kOutbound6] : uint16_t{0},
                    watches_ ? 1u : 0u};
  if (!set("fb_slots", slot_, row)) return refused("map fb_slots", errno);
  return std::nullopt;
}

Outcome Attachment::check_ports() const {
  if (getuid() == 0) return std::nullopt;
  // With capabilities of its own, the loader must not lend them to whoever calls it.
  std::vector<uint16_t> own;
  for (const pid_t process : processes_) {
    if (Outcome failed = listening_ports(process, &own)) return failed;
  }
  constexpr uint16_t kFirstUnprivileged = 1024;
  for (const uint16_t port : wanted_ports_) {
    if (std::ranges::find(own, port) == own.end() && (port < kFirstUnprivileged || !is_free(port)))
      return declined("ports", EPERM,
                      "at port " + std::to_string(port) + " a process listens that is not one of " +
                          service_ + ": attach it as root");
  }
  return std::nullopt;
}

Outcome Attachment::fill_ports() {
  for (const uint16_t port : wanted_ports_) {
    if (bpf_map_update_elem(programs_.map("fb_ports"), &port, &slot_, BPF_NOEXIST) != 0) {
      if (errno != EEXIST) return refused("map fb_ports", errno);
      return declined("ports", EEXIST,
                      "port " + std::to_string(port) +
                          " belongs to another attached service of this session already");
    }
    ports_.push_back(port);
    if (Outcome failed = mark_served(port, 1)) return failed;
  }
  return std::nullopt;
}

Outcome Attachment::mark_served(uint32_t port, uint8_t mark) {
  if (bpf_map_update_elem(programs_.map("fb_served"), &port, &mark, BPF_ANY) == 0)
    return std::nullopt;
  return refused("map fb_served", errno);
}

Outcome Attachment::fill_processes(bool go) {
  for (const pid_t process : processes_) {
    const auto tgid = static_cast<uint32_t>(process);
    if (go) {
      GoProbes probes = probe_go_program(programs_.objects(), process);
      if (probes.go &&
          bpf_map_update_elem(programs_.map("fb_tasks_of"), &tgid, &probes.tasks, BPF_ANY) != 0)
        return refused("map fb_tasks_of", errno);
      if (notes_.find(probes.notes) == std::string::npos) notes_ += probes.notes;
      go_probes_[process] = std::move(probes);
    }
    if (bpf_map_update_elem(programs_.map("fb_tgids"), &tgid, &slot_, BPF_ANY) != 0)
      return refused("map fb_tgids", errno);
    // It may have ended since we looked, before anybody would have seen that.
    if (access(proc_file(process, "stat").c_str(), F_OK) != 0)
      return declined("pid", ESRCH, pid_text(process) + " has ended meanwhile");
  }
  return std::nullopt;
}

void Attachment::joined(pid_t process) {
  if (!claims_.claim(process)) processes_.insert(process);
}

// A shell that starts a Go program is one of them ("command": "./migrate && exec ./users").
void Attachment::runs_another_program(pid_t process) {
  go_probes_.erase(process);
  GoProbes probes = probe_go_program(programs_.objects(), process);
  const auto tgid = static_cast<uint32_t>(process);
  if (probes.go) {
    bpf_map_update_elem(programs_.map("fb_tasks_of"), &tgid, &probes.tasks, BPF_ANY);
    go_probes_[process] = std::move(probes);
  }
}

void Attachment::ended(pid_t process) {
  if (processes_.erase(process) == 0) return;
  claims_.release(process);
  go_probes_.erase(process);
  // Nobody is behind the proxy any more: who connects is refused, as without us.
  if (processes_.empty()) forget_ports();
}

void Attachment::forget_ports() {
  for (const uint16_t port : ports_) {
    bpf_map_delete_elem(programs_.map("fb_ports"), &port);
    mark_served(port, 0);  // a row of an array stays
  }
  ports_.clear();
}

void Attachment::undo() {
  // Those first that bring new connections.
  const SlotRow row{};
  bpf_map_update_elem(programs_.map("fb_slots"), &slot_, &row, BPF_ANY);
  // A process may fork while its row is still there, so that another one comes.
  for (bool found = true; found;) {
    found = false;
    for_each_key<uint32_t, uint32_t>(programs_.map("fb_tgids"), [&](uint32_t tgid, uint32_t slot) {
      if (slot != slot_) return;
      found = true;
      bpf_map_delete_elem(programs_.map("fb_tgids"), &tgid);
      bpf_map_delete_elem(programs_.map("fb_tasks_of"), &tgid);
    });
  }
  go_probes_.clear();
  forget_ports();
  if (steered_) programs_.unsteer(network_);
  steered_ = false;
  for (const uint32_t index : {2 * slot_, 2 * slot_ + 1})
    bpf_map_delete_elem(programs_.map("fb_inbound"), &index);
  if (ring_.valid()) {
    const auto take_out = [&](const char* map) { bpf_map_delete_elem(programs_.map(map), &slot_); };
    at_once([&] { take_out("fb_rings"); }, [&] { take_out("fb_originals"); },
            [&] { take_out("fb_bypass"); });
  }
  for (const uint16_t port : listener_ports_)
    bpf_map_delete_elem(programs_.map("fb_spared"), &port);
  listener_ports_.clear();
  for (const pid_t process : processes_) claims_.release(process);
  processes_.clear();
  ring_.reset();
  originals_.reset();
  bypass_.reset();
}

}  // namespace filibuster::bpf
