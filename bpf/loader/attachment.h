// One attached service: what of it stands in the maps of the session. Its destruction undoes all of it, also
// where only a part of the steps was done.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "bpf/attached.h"
#include "bpf/loader/claims.h"
#include "bpf/loader/failure.h"
#include "bpf/loader/go_probes.h"
#include "bpf/loader/programs.h"
#include "bpf/loader/protocol.h"
#include "daemon/base/descriptors.h"

namespace filibuster::bpf {

class Attachment {
 public:
  // All that is referred to must outlive the attachment.
  // `number`: no other attachment of the session has, or had, the same.
  Attachment(Programs& programs, Claims& claims, uint32_t slot, uint32_t number)
      : programs_(programs), claims_(claims), slot_(slot), number_(number) {}
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;
  ~Attachment() { undo(); }

  // Whether the processes are there, and are what the request says; claims them.
  Outcome claim(const AttachRequest& request, const std::set<pid_t>& never);
  // `listeners`: as protocol.h says. The programs have started.
  Outcome attach(const AttachRequest& request, const std::vector<UniqueFd>& listeners);
  void undo();

  uint32_t slot() const { return slot_; }
  uint32_t number() const { return number_; }
  const std::string& service() const { return service_; }
  const std::vector<uint16_t>& ports() const { return ports_; }
  uint64_t network() const { return network_; }
  const std::set<pid_t>& processes() const { return processes_; }
  // The maps of the slot, in the order of AttachReply.
  std::vector<int> descriptors() const { return {ring_.get(), originals_.get(), bypass_.get()}; }
  int bypass() const { return bypass_.get(); }
  // What does not hold in its processes, for people; "": nothing.
  const std::string& notes() const { return notes_; }

  // A child of one of its processes is attached, too; one of them has begun another program (exec); one has ended.
  void joined(pid_t process);
  void runs_another_program(pid_t process);
  void ended(pid_t process);

 private:
  Outcome check_process(pid_t process, uint64_t start_time, const std::set<pid_t>& never);
  Outcome check_ports() const;
  Outcome take_listeners(const std::vector<UniqueFd>& listeners);
  Outcome make_maps();
  Outcome fill_slot(const std::vector<UniqueFd>& listeners);
  Outcome fill_ports();
  Outcome mark_served(uint32_t port, uint8_t mark);
  Outcome fill_processes(bool go);
  void forget_ports();

  Programs& programs_;
  Claims& claims_;
  const uint32_t slot_, number_;
  std::string service_;
  std::vector<uint16_t> ports_;  // rows in fb_ports
  std::vector<uint16_t> wanted_ports_;
  std::vector<uint16_t> listener_ports_;  // outbound and inbound, rows in fb_spared
  std::set<pid_t> processes_;             // claimed
  std::map<pid_t, GoProbes> go_probes_;
  std::string notes_;
  UniqueFd ring_, originals_, bypass_;
  uint64_t network_ = 0;
  bool steered_ = false;
  bool watches_ = false;  // inbound connections lead past the proxy
};

}  // namespace filibuster::bpf
