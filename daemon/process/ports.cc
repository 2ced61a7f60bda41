#include "daemon/process/ports.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include "daemon/base/file_text.h"

namespace filibuster {
namespace {

// Below Linux's default ephemeral range (32768..60999) and above the registered favourites.
constexpr uint16_t kFirstPort = 20000;
constexpr uint16_t kPortCount = 12000;

enum class Bind { kFree, kTaken, kNoFamily };

// `option`: SO_REUSEADDR, SO_REUSEPORT or 0.
Bind try_bind(int family, uint16_t port, int option) {
  const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return Bind::kNoFamily;
  const int one = 1;
  if (option != 0) setsockopt(fd, SOL_SOCKET, option, &one, sizeof one);
  int result = 0;
  if (family == AF_INET) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    result = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
  } else {
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    address.sin6_addr = in6addr_any;
    result = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
  }
  const int error = errno;
  close(fd);
  if (result == 0) return Bind::kFree;
  return error == EADDRINUSE ? Bind::kTaken : Bind::kNoFamily;
}

// Inodes of the sockets that listen on `port` (column 10 of /proc/net/tcp; state 0A = LISTEN).
std::set<std::string> listening_inodes(uint16_t port) {
  std::set<std::string> inodes;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(table);
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
      std::istringstream fields(line);
      std::string slot, local, remote, state, queues, timer, retransmits, uid, timeout, inode;
      fields >> slot >> local >> remote >> state >> queues >> timer >> retransmits >> uid >>
          timeout >> inode;
      const size_t colon = local.rfind(':');
      if (state != "0A" || colon == std::string::npos) continue;
      unsigned number = 0;
      std::from_chars(local.data() + colon + 1, local.data() + local.size(), number, 16);
      if (number == port) inodes.insert(inode);
    }
  }
  return inodes;
}

bool can_bind(uint16_t port, int option) {
  return try_bind(AF_INET, port, option) != Bind::kTaken &&
         try_bind(AF_INET6, port, option) != Bind::kTaken;
}

// `left_over`: a port that only has connections in TIME_WAIT is free. The kernel gives it to a server that sets the same option as the one whose
// connections they are, and nearly every server sets one of them. With SO_REUSEPORT it gives also one on which somebody listens.
bool is_free(uint16_t port, bool left_over) {
  if (!left_over) return can_bind(port, 0);
  return can_bind(port, SO_REUSEADDR) ||
         (can_bind(port, SO_REUSEPORT) && listening_inodes(port).empty());
}

std::string command_line(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/cmdline", std::ios::binary);
  std::string text = text_of(file);
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  if (text.size() > 120) text = text.substr(0, 117) + "...";
  return text;
}

// The address of another machine gives another error: its port does not count as taken.
bool can_bind_at(const addrinfo& address, int option) {
  const int fd = socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return true;
  const int one = 1;
  setsockopt(fd, SOL_SOCKET, option, &one, sizeof one);
  const bool can = bind(fd, address.ai_addr, address.ai_addrlen) == 0 || errno != EADDRINUSE;
  close(fd);
  return can;
}

}  // namespace

bool port_is_taken(uint16_t port, const std::string& host) {
  if (host.empty()) return !is_free(port, true);
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return false;
  bool taken = false;
  for (const addrinfo* at = found; at != nullptr && !taken; at = at->ai_next) {
    taken = !can_bind_at(*at, SO_REUSEADDR) &&
            !(can_bind_at(*at, SO_REUSEPORT) && listening_inodes(port).empty());
  }
  freeaddrinfo(found);
  return taken;
}

bool PortClaims::claim(uint16_t port) {
  if (sockets_.contains(port)) return true;
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return true;  // nothing to claim with
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = "filibuster-port-" + std::to_string(port);
  memcpy(address.sun_path + 1, name.data(), name.size());  // after a 0: no file
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 && errno == EADDRINUSE) {
    close(fd);
    return false;
  }
  sockets_.emplace(port, fd);
  return true;
}

void PortClaims::release() {
  for (const auto& [port, fd] : sockets_) close(fd);
  sockets_.clear();
}

Result<Ports> allocate_ports(const Config& config, const PortMap& former, PortClaims* claims) {
  Ports out;
  PortMap& ports = out.numbers;
  std::set<uint16_t> used;
  for (const ServiceConfig& service : config.services) {
    for (const auto& [name, number] : service.ports) {
      auto [position, inserted] = ports.emplace(name, number);
      if (!inserted && position->second != number) {
        return Error{"the port name '" + name +
                     "' stands for two different ports; give each port a name of its own"};
      }
      if (number != 0) used.insert(number);
    }
  }
  // The former ports come first, so that no new name takes them. If connections of the last session
  // are in TIME_WAIT, the kernel gives the port only to a server that sets the same option.
  for (auto& [name, number] : ports) {
    const auto before = former.find(name);
    if (number != 0 || before == former.end()) continue;
    const uint16_t wanted = before->second;
    if (wanted < kFirstPort || wanted >= kFirstPort + kPortCount || used.contains(wanted) ||
        !is_free(wanted, true) || !claims->claim(wanted)) {
      continue;
    }
    number = wanted;
    used.insert(wanted);
    out.automatic.emplace(name, wanted);
  }
  // Sessions of one machine begin their search at different places.
  uint16_t offset = static_cast<uint16_t>((static_cast<uint32_t>(getpid()) * 37u) % kPortCount);
  for (auto& [name, number] : ports) {
    if (number != 0) continue;
    for (uint16_t tries = 0; tries < kPortCount && number == 0; ++tries) {
      const auto candidate = static_cast<uint16_t>(kFirstPort + offset);
      offset = static_cast<uint16_t>((offset + 1) % kPortCount);
      if (used.contains(candidate) || !is_free(candidate, false)) continue;
      if (!claims->claim(candidate)) continue;
      number = candidate;
      used.insert(candidate);
    }
    if (number == 0) return Error{"no free TCP port was found for '" + name + "'"};
    out.automatic.emplace(name, number);
    const auto before = former.find(name);
    if (before != former.end()) out.moved.push_back({name, before->second, number});
  }
  return out;
}

Result<std::string> substitute_ports(std::string_view text, const PortMap& ports) {
  constexpr std::string_view kOpen = "${port:";
  std::string out;
  size_t position = 0;
  while (true) {
    const size_t begin = text.find(kOpen, position);
    out += text.substr(position, begin - position);
    if (begin == std::string_view::npos) return out;
    const size_t end = text.find('}', begin);
    if (end == std::string_view::npos) {
      return Error{"'" + std::string(text.substr(begin)) +
                   "' is never closed; expected ${port:NAME}"};
    }
    const std::string name(text.substr(begin + kOpen.size(), end - begin - kOpen.size()));
    const auto found = ports.find(name);
    if (found == ports.end()) {
      std::string known;
      for (const auto& [other, number] : ports) known += (known.empty() ? "" : ", ") + other;
      return Error{"${port:" + name + "}: no service has a port of that name (known: " +
                   (known.empty() ? "none" : known) + ")"};
    }
    out += std::to_string(found->second);
    position = end + 1;
  }
}

std::string port_variable(std::string_view name) {
  std::string out = "PORT_";
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    out += std::isalnum(byte) != 0 ? static_cast<char>(std::toupper(byte)) : '_';
  }
  return out;
}

std::vector<std::string> port_environment(const PortMap& ports) {
  std::vector<std::string> out;
  for (const auto& [name, number] : ports) {
    out.push_back(port_variable(name) + "=" + std::to_string(number));
  }
  return out;
}

std::optional<PortHolder> port_holder(uint16_t port) {
  const std::set<std::string> inodes = listening_inodes(port);
  if (inodes.empty()) return std::nullopt;
  DIR* processes = opendir("/proc");
  if (processes == nullptr) return PortHolder{};
  PortHolder holder;
  while (const dirent* entry = readdir(processes)) {
    const std::string pid = entry->d_name;
    if (std::isdigit(static_cast<unsigned char>(pid[0])) == 0) continue;
    const std::string folder = "/proc/" + pid + "/fd";
    DIR* descriptors = opendir(folder.c_str());
    if (descriptors == nullptr) continue;
    while (const dirent* descriptor = readdir(descriptors)) {
      char link[128];
      const std::string path = folder + "/" + descriptor->d_name;
      const ssize_t size = readlink(path.c_str(), link, sizeof link - 1);
      if (size <= 0) continue;
      const std::string_view target(link, static_cast<size_t>(size));
      if (!target.starts_with("socket:[")) continue;
      if (!inodes.contains(std::string(target.substr(8, target.size() - 9)))) continue;
      holder.pid = static_cast<pid_t>(std::stol(pid));
      holder.program = command_line(pid);
      break;
    }
    closedir(descriptors);
    if (holder.pid != 0) break;
  }
  closedir(processes);
  return holder;
}

}  // namespace filibuster
