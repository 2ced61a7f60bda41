// A folder that looks like /proc, with the processes that a test puts into it.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "daemon/attach/proc.h"
#include "tests/unit/temporary_folder.h"

namespace filibuster::attach {

class FakeProc {
 public:
  struct Process {
    pid_t pid = 0, parent = 1;
    std::string executable = "/usr/bin/users";
    std::vector<std::string> arguments = {"users"};
    std::vector<uint64_t> sockets = {};  // inodes
    char state = 'S';
    std::string maps = {}, net = "net:[1]";
    std::vector<std::string> environment = {};
    std::string directory = "/", mounts = "mnt:[1]";
  };

  // The session's own process is 2; who asks is found by the link `self`.
  FakeProc() {
    add({.pid = 1, .parent = 0, .executable = "/sbin/init", .arguments = {"init"}});
    add({.pid = 2, .executable = "/usr/bin/filibusterd", .arguments = {"filibusterd"}});
    link("2", "self");
    write("mounts", "cgroup " + path() + "/cg/old cgroup rw 0 0\nnone " + path() +
                        "/cg cgroup2 rw,nosuid 0 0\n");
  }

  void add(const Process& process) {
    const std::string of = std::to_string(process.pid) + "/";
    std::string line;
    for (const std::string& argument : process.arguments) line += argument + '\0';
    write(of + "cmdline", line);
    write(of + "stat", std::to_string(process.pid) + " (a ) name) " + process.state + " " +
                           std::to_string(process.parent) +
                           " 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 " +
                           std::to_string(1000 + process.pid) + " 0 0\n");
    write(of + "maps", process.maps);
    if (!process.executable.empty()) link(process.executable, of + "exe");
    link(process.net, of + "ns/net");
    link(process.mounts, of + "ns/mnt");
    link(process.directory, of + "cwd");
    line.clear();
    for (const std::string& variable : process.environment) line += variable + '\0';
    write(of + "environ", line);
    std::filesystem::create_directories(path() + "/" + of + "fd");
    link("/dev/null", of + "fd/0");
    for (size_t i = 0; i < process.sockets.size(); ++i)
      link("socket:[" + std::to_string(process.sockets[i]) + "]",
           of + "fd/" + std::to_string(i + 3));
    pids_.push_back(process.pid);
    write_tables();
  }

  // A row of /proc/net/tcp: `address` is in its form, "0100007F:1F90".
  void socket(const std::string& address, uint64_t inode, const std::string& state = "0A") {
    const std::string row = "   0: " + address + " 00000000:0000 " + state +
                            " 00000000:00000000 00:00000000 00000000  1000        0 " +
                            std::to_string(inode) + " 1 0000000000000000 100 0 0 10 0\n";
    (address.size() > 20 ? tcp6_ : tcp_) += row;
    write_tables();
  }

  void cgroup(const std::string& name, const std::string& pids) {
    write("cg/" + name + "/cgroup.procs", pids);
  }

  Proc proc() const { return Proc(folder_.path()); }
  const std::string& path() const { return folder_.path(); }

 private:
  void write(const std::string& name, const std::string& text) {
    const std::filesystem::path file = path() + "/" + name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }
  void link(const std::string& target, const std::string& name) {
    const std::filesystem::path file = path() + "/" + name;
    std::filesystem::create_directories(file.parent_path());
    std::filesystem::create_symlink(target, file);
  }
  void write_tables() {
    constexpr const char* kHead =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when\n";
    std::vector<std::string> folders{"net"};
    for (const pid_t pid : pids_) folders.push_back(std::to_string(pid) + "/net");
    for (const std::string& folder : folders) {
      write(folder + "/tcp", kHead + tcp_);
      write(folder + "/tcp6", kHead + tcp6_);
    }
  }

  TemporaryFolder folder_;
  std::vector<pid_t> pids_;
  std::string tcp_, tcp6_;
};

}  // namespace filibuster::attach
