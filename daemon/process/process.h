// One child process of the daemon: its own process group, output into a log file, waited for by
// pidfd, owned by pid and start time. Spawning shares the daemon's memory until exec (posix_spawn),
// so its cost does not grow with the daemon's heap.
//
//   auto process = Process::spawn({.argv = {...}, .environment = {...}, .log_path = "..."});
//   if (!process->wait(limit)) process->kill_group(SIGKILL);
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace filibuster {

struct ExitStatus {
  bool signalled = false;
  int code = 0;  // exit status, or the signal's number
  bool success() const { return !signalled && code == 0; }
};
// "exit status 1", "ended by SIGSEGV"
std::string to_text(const ExitStatus& status);

struct SpawnOptions {
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // complete: "NAME=value"
  std::string directory;                 // where it runs; empty: the daemon's
  std::string log_path;                  // stdout and stderr
  bool append = false;                   // to the log, instead of a new one
  // How long other processes of its group may go on after the process ended, before they are killed
  // (a shell's child that writes what it measured).
  std::chrono::milliseconds rest_grace{0};
  int inherited = -1;  // a descriptor of ours that becomes its descriptor 3; -1: none
  // Descriptors of ours that become its standard input and output; -1: /dev/null, and the log.
  int input = -1, output = -1;
};

// 0: no such process.
pid_t parent_of_process(pid_t pid);
// Field 22 of /proc/PID/stat: with the pid it names one process of this boot. 0: no such process.
uint64_t process_start_time(pid_t pid);
// Waits at most `timeout` for a process that need not be our child. False: it goes on.
bool wait_for_end(pid_t pid, uint64_t start_time, std::chrono::milliseconds timeout);

class Process {
 public:
  // Error: program, directory or log not usable; names which.
  static Result<Process> spawn(const SpawnOptions& options);
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();  // does not end the process: if it goes on, it is an orphan of this daemon (orphans.h)

  pid_t pid() const { return pid_; }
  uint64_t start_time() const { return start_time_; }
  int pidfd() const { return pidfd_; }  // readable when the process ended

  // The status if the process ended. The call that first sees the end kills the rest of the process's
  // group, after rest_grace.
  std::optional<ExitStatus> poll_exit();
  // Waits at most `timeout` (negative: forever); also ends when `wake_fd` (if >= 0) is readable.
  std::optional<ExitStatus> wait(std::chrono::milliseconds timeout, int wake_fd = -1);
  void kill_group(int signal_number);
  // Sends SIGTERM to the group, at the first call only: many programs end at once at a second one,
  // without writing what they still have to write.
  void ask_to_end();
  // Asks it to end; SIGKILL after `grace`. Returns when it is gone.
  ExitStatus stop(std::chrono::milliseconds grace);

 private:
  Process(pid_t pid, int pidfd) : pid_(pid), pidfd_(pidfd) {}
  void give_up();
  pid_t pid_ = 0;
  int pidfd_ = -1;
  uint64_t start_time_ = 0;
  std::chrono::milliseconds rest_grace_{0};
  bool asked_to_end_ = false;
  std::optional<ExitStatus> status_;
};

// The last `lines` lines of a file, at most 16 KiB; "" if it cannot be read.
std::string last_lines(const std::string& path, int lines);

}  // namespace filibuster
