// What /proc says of the processes of this machine: who runs, who started whom, and who listens where.
// The folder is given, so that tests bring their own.
//
//   const Proc proc;
//   const ProcessTable all = proc.processes();
//   Listening(proc).of(4711);   // the sockets that the process listens at
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace filibuster::attach {

struct ListeningSocket {
  uint64_t inode = 0;
  std::string address;  // "127.0.0.1", "0.0.0.0", "::"
  uint16_t port = 0;
  bool operator==(const ListeningSocket&) const = default;
};
// The text of /proc/net/tcp or /proc/net/tcp6 (proc(5)); lines that are none are left out.
std::vector<ListeningSocket> parse_listening(std::string_view table);

struct ProcessRow {
  pid_t parent = 0;
  uint64_t start_time = 0;  // field 22 of its stat
  uint32_t threads = 0;
  char state = 0;
  // A process whose first thread has ended goes on with the others.
  bool has_ended() const { return (state == 'Z' || state == 'X') && threads <= 1; }
};
// The text of /proc/PID/stat; false: it is none.
bool parse_stat(std::string_view text, ProcessRow* out);
using ProcessTable = std::map<pid_t, ProcessRow>;

class Proc {
 public:
  explicit Proc(std::string folder = "/proc") : folder_(std::move(folder)) {}

  ProcessTable processes() const;  // without those that have ended
  // All sockets that listen, in the network namespace of the process.
  std::vector<ListeningSocket> listening_beside(pid_t pid) const;
  // Inodes of the sockets that listen at the port, in the network namespace of this process.
  std::set<uint64_t> listening_inodes(uint16_t port) const;
  // Inodes of the sockets that the process holds. `*allowed` (may be null): all of its descriptors can be read.
  std::set<uint64_t> sockets(pid_t pid, bool* allowed) const;
  std::string executable(pid_t pid) const;  // the path; "": a thread of the kernel, or not allowed
  std::vector<std::string> arguments(pid_t pid) const;
  // That it was started with: "NAME=value", each with a zero behind it; "": there is none, or not allowed.
  std::string environment(pid_t pid) const;
  std::string path_of(pid_t pid) const;     // "/proc/7"
  std::string name_space(pid_t pid) const;  // of its network: "net:[4026531840]"; "": not known
  bool has_mapped(pid_t pid, std::string_view file_name) const;
  pid_t self() const;
  // "" if there is no such file.
  std::string text(const std::string& path) const;

 private:
  std::string of(pid_t pid, const char* what) const;
  std::string folder_;
};

// The sockets at which processes listen, as they were when the first of a network namespace was asked for: its tables have a line
// for each connection too, and are read once.
class Listening {
 public:
  explicit Listening(const Proc& proc) : proc_(proc) {}
  std::vector<ListeningSocket> of(pid_t pid);

 private:
  const std::vector<ListeningSocket>& all_beside(pid_t pid);

  const Proc& proc_;
  std::map<std::string, std::vector<ListeningSocket>> seen_;  // by the name of the namespace
};

}  // namespace filibuster::attach
