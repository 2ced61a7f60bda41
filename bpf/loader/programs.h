// The programs of a session: those that are attached once, and the one that is attached to each network
// namespace of attached processes. For each question that there is more than one way to answer, the first
// way is taken that this kernel allows.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bpf/loader/failure.h"
#include "bpf/loader/objects.h"

namespace filibuster::bpf {

// The ways to observe, best first (bpf/observe.bpf.c): each is a set of programs.
struct Way {
  const char* name;  // "sk_msg"
  std::vector<std::string> programs;
};
const std::vector<Way>& ways_to_see_writes();
const std::vector<Way>& ways_to_see_reads();

class Programs {
 public:
  // `writes`: the only way that may be taken; "": any (for tests).
  explicit Programs(std::string writes = "") : only_writes_(std::move(writes)) {}

  // Loads and attaches what does not depend on a service. Nothing is left of it if it fails.
  Outcome start();
  bool started() const { return started_; }
  // What cannot be observed here, for people; "": all can.
  const std::string& notes() const { return notes_; }

  // Whether the bytes of connections can be told that lead past a proxy. (Where one of the best ways is not there, or is not
  // wanted, they are steered.)
  bool sees_bytes() const { return links_.contains("fb_watch_end"); }

  // Connections in the namespace are steered until unsteer() was called as often.
  Outcome steer(uint64_t network, int network_fd);
  void unsteer(uint64_t network);

  // New connections go direct, and nothing is observed; getpeername() still answers as it did. start()
  // brings the rest back.
  void stop();
  // Nothing is left in the kernel.
  void unload();

  Objects& objects() { return *objects_; }
  int map(const char* name) const { return objects_ ? objects_->map(name) : -1; }

 private:
  struct Steering {
    Link link;
    uint32_t users = 0;
  };
  Outcome load_all();
  Outcome load_stream();
  Outcome load_observation();
  // The rows that we write are as large as the programs take them for.
  Outcome check_rows() const;
  // Those that are not attached yet.
  Outcome attach_all(const std::vector<std::string>& programs);
  // Takes the first way that works; false: none does, and *last is what the best one got.
  bool take(const std::vector<Way>& ways, const std::string& only, Outcome* last);

  std::string only_writes_;
  bool started_ = false;
  std::string notes_;
  UniqueFd cgroup_;
  std::unique_ptr<Objects> objects_;
  std::vector<std::string> chosen_;  // all that is attached while it is started
  std::map<std::string, Link> links_;
  std::map<uint64_t, Steering> steered_;
};

}  // namespace filibuster::bpf
