#include "daemon/attach/proc.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>

#include "daemon/base/file_text.h"

namespace filibuster::attach {
namespace {

constexpr std::string_view kListen = "0A";  // TCP_LISTEN in the column `st`

template <typename T>
bool read_number(std::string_view text, T* out, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out, base);
  return error == std::errc() && end == text.data() + text.size();
}

// An address as words of 8 hexadecimal digits, each in the byte order of this machine.
std::string parse_address(std::string_view digits) {
  uint32_t words[4] = {};
  if (digits.size() != 8 && digits.size() != 32) return "";
  for (size_t i = 0; i < digits.size() / 8; ++i) {
    if (!read_number(digits.substr(i * 8, 8), &words[i], 16)) return "";
  }
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(digits.size() == 8 ? AF_INET : AF_INET6, words, text, sizeof text);
  return text;
}

std::string link_of(const std::string& path) {
  char target[4096];
  const ssize_t size = readlink(path.c_str(), target, sizeof target);
  return size > 0 ? std::string(target, static_cast<size_t>(size)) : "";
}

bool is_forbidden(int error) {
  return error == EACCES || error == EPERM;
}

}  // namespace

std::vector<ListeningSocket> parse_listening(std::string_view table) {
  std::vector<ListeningSocket> out;
  std::istringstream lines{std::string(table)};
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::string slot, local, remote, state, queues, timer, retransmits, uid, timeout, inode;
    if (!(fields >> slot >> local >> remote >> state >> queues >> timer >> retransmits >> uid >>
          timeout >> inode) ||
        state != kListen)
      continue;
    const size_t colon = local.rfind(':');
    ListeningSocket socket;
    if (colon == std::string::npos || !read_number(inode, &socket.inode) ||
        !read_number(std::string_view(local).substr(colon + 1), &socket.port, 16))
      continue;
    socket.address = parse_address(std::string_view(local).substr(0, colon));
    if (!socket.address.empty()) out.push_back(std::move(socket));
  }
  return out;
}

bool parse_stat(std::string_view text, ProcessRow* out) {
  // The name (field 2) may hold anything, so the rest is counted from the last ')'.
  const size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) return false;
  std::istringstream fields{std::string(text.substr(name_end + 1))};
  std::string skipped;
  if (!(fields >> out->state >> out->parent)) return false;
  for (int field = 5; field < 20; ++field) fields >> skipped;
  return static_cast<bool>(fields >> out->threads >> skipped >> out->start_time);
}

std::string Proc::text(const std::string& path) const {
  std::ifstream file(folder_ + "/" + path, std::ios::binary);
  return text_of(file);
}

std::string Proc::of(pid_t pid, const char* what) const {
  return std::to_string(pid) + "/" + what;
}

ProcessTable Proc::processes() const {
  ProcessTable out;
  DIR* const folder = opendir(folder_.c_str());
  if (folder == nullptr) return out;
  while (const dirent* entry = readdir(folder)) {
    pid_t pid = 0;
    ProcessRow row;
    if (read_number(entry->d_name, &pid) && parse_stat(text(of(pid, "stat")), &row) &&
        !row.has_ended())
      out.emplace(pid, row);
  }
  closedir(folder);
  return out;
}

std::set<uint64_t> Proc::sockets(pid_t pid, bool* allowed) const {
  constexpr std::string_view kSocket = "socket:[";
  std::set<uint64_t> out;
  const std::string path = folder_ + "/" + of(pid, "fd");
  DIR* const folder = opendir(path.c_str());
  if (allowed != nullptr) *allowed = folder != nullptr;
  if (folder == nullptr) return out;
  while (const dirent* entry = readdir(folder)) {
    errno = 0;
    const std::string target = link_of(path + "/" + entry->d_name);
    uint64_t inode = 0;
    // Who has the same user, and not CAP_SYS_PTRACE, may list descriptors, but not see what they are.
    if (target.empty() && is_forbidden(errno) && allowed != nullptr) *allowed = false;
    if (target.starts_with(kSocket) && target.ends_with(']') &&
        read_number(
            std::string_view(target).substr(kSocket.size(), target.size() - kSocket.size() - 1),
            &inode))
      out.insert(inode);
  }
  closedir(folder);
  return out;
}

std::vector<ListeningSocket> Proc::listening_beside(pid_t pid) const {
  std::vector<ListeningSocket> out;
  for (const char* table : {"net/tcp", "net/tcp6"}) {
    for (ListeningSocket& socket : parse_listening(text(of(pid, table))))
      out.push_back(std::move(socket));
  }
  return out;
}

std::set<uint64_t> Proc::listening_inodes(uint16_t port) const {
  std::set<uint64_t> out;
  for (const char* table : {"net/tcp", "net/tcp6"}) {
    for (const ListeningSocket& socket : parse_listening(text(table))) {
      if (socket.port == port) out.insert(socket.inode);
    }
  }
  return out;
}

std::string Proc::executable(pid_t pid) const {
  constexpr std::string_view kDeleted = " (deleted)";  // the file was replaced while it runs
  std::string path = link_of(folder_ + "/" + of(pid, "exe"));
  if (path.ends_with(kDeleted)) path.resize(path.size() - kDeleted.size());
  return path;
}

std::vector<std::string> Proc::arguments(pid_t pid) const {
  const std::string line = text(of(pid, "cmdline"));
  std::vector<std::string> out;
  for (size_t at = 0; at < line.size(); at += out.back().size() + 1)
    out.emplace_back(line.c_str() + at);
  return out;
}

std::string Proc::environment(pid_t pid) const {
  return text(of(pid, "environ"));
}

std::string Proc::path_of(pid_t pid) const {
  return folder_ + "/" + std::to_string(pid);
}

std::string Proc::name_space(pid_t pid) const {
  return link_of(folder_ + "/" + of(pid, "ns/net"));
}

bool Proc::has_mapped(pid_t pid, std::string_view file_name) const {
  const std::string end = "/" + std::string(file_name) + "\n";
  return text(of(pid, "maps")).find(end) != std::string::npos;
}

pid_t Proc::self() const {
  pid_t pid = 0;
  read_number(link_of(folder_ + "/self"), &pid);
  return pid;
}

std::vector<ListeningSocket> Listening::of(pid_t pid) {
  std::vector<ListeningSocket> out;
  const std::set<uint64_t> held = proc_.sockets(pid, nullptr);
  if (held.empty()) return out;
  for (const ListeningSocket& socket : all_beside(pid)) {
    if (held.contains(socket.inode)) out.push_back(socket);
  }
  return out;
}

const std::vector<ListeningSocket>& Listening::all_beside(pid_t pid) {
  const std::string name = proc_.name_space(pid);
  const auto [row, added] = seen_.try_emplace(name);
  // One whose name is not known is not taken for another one.
  if (added || name.empty()) row->second = proc_.listening_beside(pid);
  return row->second;
}

}  // namespace filibuster::attach
