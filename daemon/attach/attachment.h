// One service that is attached: its processes, and the proxy that takes part in the session in their
// place. The proxy is preloaded; the loader (loader.h) brings it what the processes send and receive.
//
//   auto attachment = Attachment::begin(options);
//   attachment->wait(limit, wake_fd);     // its proxy says that it is attached
//   ...
//   attachment->ask_to_end();  attachment->end();
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/attach/find.h"
#include "daemon/attach/loader.h"
#include "daemon/process/session_lane.h"

namespace filibuster::attach {

class Attachment {
 public:
  // All that is referred to must outlive the attachment.
  struct Options {
    const SessionLane& lane;
    Loader& loader;
    OwnedProcesses& owned;
    FoundService service;
    std::vector<uint16_t> ports;  // those of the service
    bool watch =
        false;  // no fault is placed, so that nothing need lead over the proxy but what the service calls
  };
  // Starts the proxy. Error: the loader or the proxy does not start.
  static Result<std::unique_ptr<Attachment>> begin(Options options);
  ~Attachment();  // detaches

  // Waits until the proxy is attached. Error: what the kernel said, and what to do.
  Result<void> wait(std::chrono::milliseconds limit, int wake_fd);

  // True if every process that was attached has ended; waits at most `grace` for it.
  bool has_ended(std::chrono::milliseconds grace);
  // Why the service is no longer attached although its processes run; "": it is.
  std::string problem();

  // What is only watched may have been done a moment before its proxy knows of it. It is asked to look now, and has looked
  // when its agent knows of all that was done before it was asked. False: it has ended, or did not within 2 s.
  void ask_to_look();
  bool has_looked();

  // New connections go direct from now on, and open ones are ended politely.
  void ask_to_end();
  // Waits until the proxy is gone.
  void end();

  const FoundService& service() const { return options_.service; }
  std::vector<uint16_t> ports() const { return options_.ports; }

 private:
  explicit Attachment(Options options) : options_(std::move(options)) {}
  Error error(const std::string& what) const;

  Options options_;
  std::string log_path_;
  std::vector<UniqueFd> pidfds_;
  size_t looks_ = 0;  // that were asked for
  std::optional<Process> proxy_;
};

}  // namespace filibuster::attach
