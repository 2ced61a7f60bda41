// The loader of a session (bpf/loader/): the process that holds the capabilities and the eBPF programs.
// It is started when the first service is attached. All that it loads lives in its descriptors, so that its
// end, however it comes, puts everything back.
//
//   Loader loader({.library = "/usr/lib/libfilibuster.so", .log_path = ...});
//   auto connection = loader.connect();   // for one proxy
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "daemon/base/descriptors.h"
#include "daemon/process/process.h"

namespace filibuster::attach {

// What went over connections that were open before their process was attached, and that nobody sees.
struct OldConnections {
  // Service -> how many writes, since ever, over connections that end by that, or of which it was not known yet.
  std::map<std::string, uint64_t> writes;
  // Those that were used and cannot be ended politely.
  struct Staying {
    std::string service;
    std::string address;  // of the other end, if it is outgoing; else where the service listens
    bool outgoing = false;
    uint64_t count = 0;
  };
  std::vector<Staying> staying;
};

class Loader {
 public:
  struct Options {
    std::string library;    // libfilibuster.so; the loader's program is found beside it
    std::string log_path;   // what it writes
    uint16_t api_port = 0;  // of the daemon, which nobody follows
  };
  explicit Loader(Options options) : options_(std::move(options)) {}
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;
  ~Loader();  // ends the process

  // A connection to the loader for one proxy; may be called by several threads. Error: it does not
  // start, or has ended.
  Result<UniqueFd> connect();
  // Empty: nothing is attached, or the loader has ended.
  OldConnections old_connections();
  // Why it ended; "": it runs, or nobody wanted it.
  std::string problem();

 private:
  Result<void> start();
  Result<UniqueFd> join();
  std::string how_it_ended();

  Options options_;
  std::mutex mutex_;
  UniqueFd control_;
  UniqueFd questions_;  // a connection that attaches nothing; invalid: nothing was asked yet
  std::optional<Process> process_;
};

// The programs that stand beside the library: LIBRARY's folder/filibuster/NAME.
std::string program_beside(const std::string& library, const char* name);

}  // namespace filibuster::attach
