// The daemon that serves ROOT. It is joined if it runs; otherwise the filibusterd beside this executable
// is started.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cli/daemon_client.h"
#include "core/result.h"

namespace filibuster::cli {

// Field 22 of /proc/PID/stat, in clock ticks since boot: with the pid it names one process. 0 if there
// is no such process, or if it has ended.
uint64_t process_start_time(int64_t pid);

// Makes ROOT if it is not there. The Error says how to name another one.
Result<void> prepare_root(const std::string& root);

// The content of ROOT/daemon.json.
struct DaemonAddress {
  int64_t pid = 0;
  uint64_t start_time = 0;
  std::string url, token;
};
std::optional<DaemonAddress> read_daemon_address(const std::string& root);

class Daemon {
 public:
  // The Error says what went wrong, with the end of the daemon's log.
  static Result<std::unique_ptr<Daemon>> join_or_start(const std::string& root);
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;
  ~Daemon() { finish(); }  // also when a verb leaves early

  const DaemonClient& client() const { return client_; }
  int64_t pid() const { return address_.pid; }
  // The address of the live page. The token stands in the fragment, which no browser sends.
  std::string page_address() const { return address_.url + "/#token=" + address_.token; }
  // Has the daemon ended, or does it end within `timeout_ms`? Its connections close before its process
  // ends: who has lost one must wait a moment to tell the end of the daemon from a hiccup.
  bool ended(int timeout_ms) const;
  // Ends the daemon if it was started here, and waits until its services are gone.
  void finish();

 private:
  Daemon(DaemonAddress address, pid_t child)
      : address_(address), client_(address.url, address.token), child_(child) {}

  DaemonAddress address_;
  DaemonClient client_;
  pid_t child_ = 0;  // 0: it was joined, not started here
};

}  // namespace filibuster::cli
