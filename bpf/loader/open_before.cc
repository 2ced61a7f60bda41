#include "bpf/loader/open_before.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "bpf/loader/foreign_sockets.h"

namespace filibuster::bpf {
namespace {

constexpr uint32_t kLooksAtTheEnd = 100;

// An address of a socket in the form of the events.
fb_address to_address(const sockaddr_storage& from) {
  fb_address address{};
  if (from.ss_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(from);
    address.ip[10] = address.ip[11] = 0xff;
    std::memcpy(address.ip + 12, &four.sin_addr, 4);
    address.port = ntohs(four.sin_port);
  } else if (from.ss_family == AF_INET6) {
    const auto& six = reinterpret_cast<const sockaddr_in6&>(from);
    std::memcpy(address.ip, &six.sin6_addr, 16);
    address.port = ntohs(six.sin6_port);
  }
  return address;
}

constexpr uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool is_loopback(const fb_address& address) {
  if (std::memcmp(address.ip, kMapped, sizeof(kMapped)) == 0) return address.ip[12] == 127;
  in6_addr ip;
  std::memcpy(&ip, address.ip, sizeof(ip));
  return IN6_IS_ADDR_LOOPBACK(&ip);
}

// An established TCP connection over IP.
bool is_connection(int socket, fb_address* local, fb_address* remote) {
  int protocol = 0;
  socklen_t size = sizeof(protocol);
  if (getsockopt(socket, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) != 0 || protocol != IPPROTO_TCP)
    return false;
  tcp_info info{};
  size = sizeof(info);
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
      info.tcpi_state != TCP_ESTABLISHED)
    return false;
  sockaddr_storage here{}, there{};
  socklen_t here_size = sizeof(here), there_size = sizeof(there);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&here), &here_size) != 0 ||
      getpeername(socket, reinterpret_cast<sockaddr*>(&there), &there_size) != 0)
    return false;
  *local = to_address(here);
  *remote = to_address(there);
  return true;
}

// To set what is set already makes the kernel tell that there is something to read. True: it was read at once.
bool wake_reader(int socket) {
  constexpr int kLooks = 20;
  constexpr timespec kBetween{0, 200'000};
  int least = 1;
  socklen_t size = sizeof(least);
  if (getsockopt(socket, SOL_SOCKET, SO_RCVLOWAT, &least, &size) == 0)
    setsockopt(socket, SOL_SOCKET, SO_RCVLOWAT, &least, size);
  for (int i = 0; i < kLooks; ++i) {
    int unread = 0;
    if (ioctl(socket, FIONREAD, &unread) == 0 && unread == 0) return true;
    nanosleep(&kBetween, nullptr);
  }
  return false;
}

// What is spoken, as people are told.
const char* name_of_row(const KeptRow& row) {
  if (row.spoken == Spoken::kHttp2)
    return row.inbound != 0 ? "HTTP/2 that is not gRPC" : "HTTP/2, as its client";
  return row.spoken == Spoken::kOther ? "neither HTTP/1.1 nor gRPC in the clear" : "nothing yet";
}

}  // namespace

std::string to_text(const fb_address& address) {
  char text[INET6_ADDRSTRLEN];
  const std::string port = std::to_string(address.port);
  if (std::memcmp(address.ip, kMapped, sizeof(kMapped)) == 0)
    return inet_ntop(AF_INET, address.ip + 12, text, sizeof(text)) + (":" + port);
  return std::string("[") + inet_ntop(AF_INET6, address.ip, text, sizeof(text)) + "]:" + port;
}

bool stays(const KeptRow& row) {
  if (row.told != 0) return false;
  if (row.spoken == Spoken::kHttp2) return row.inbound == 0 || row.frames >= kGrpcWrites;
  return row.spoken == Spoken::kOther;
}

std::map<std::string, uint32_t> staying(const std::vector<ListedRow>& rows) {
  std::map<std::string, uint32_t> counts;
  for (const ListedRow& row : rows) {
    if (!stays(row.kept)) continue;
    ++counts[(row.kept.inbound != 0 ? "at " + std::to_string(row.local.port)
                                    : "to " + to_text(row.remote)) +
             " (" + name_of_row(row.kept) + ")"];
  }
  return counts;
}

std::string counted(const std::map<std::string, uint32_t>& counts) {
  std::string text;
  for (const auto& [what, count] : counts)
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + what;
  return text;
}

Outcome OpenBefore::retire(const Attachment& attachment, const std::set<uint16_t>& spared,
                           RetireReply* reply) {
  not_ours_.clear();
  for (const pid_t process : attachment.processes()) {
    if (Outcome failed = for_each_descriptor(
            process, [&](int socket) { adopt_socket(attachment, socket, spared); }))
      return failed;
  }
  std::vector<ListedRow> rows;
  if (Outcome failed = list(&rows)) return failed;
  std::erase_if(rows, [&](const ListedRow& row) { return row.kept.owner != attachment.number(); });
  reply->found = static_cast<uint32_t>(std::ranges::count_if(
      owners_, [&](const auto& row) { return row.second == attachment.number(); }));
  reply->open = static_cast<uint32_t>(rows.size());
  reply->staying = static_cast<uint32_t>(
      std::ranges::count_if(rows, [](const ListedRow& row) { return stays(row.kept); }));
  auto counts = staying(rows);
  for (const auto& [what, count] : not_ours_) {
    for (uint32_t* number : {&reply->found, &reply->open, &reply->staying}) *number += count;
    counts[what] += count;
  }
  copy_text(reply->text, sizeof(reply->text), counted(counts));
  return std::nullopt;
}

std::vector<OpenBefore::Staying> OpenBefore::staying_connections() const {
  std::vector<Staying> out;
  std::vector<ListedRow> rows;
  if (owners_.empty() || list(&rows)) return out;
  for (const ListedRow& row : rows) {
    if (!stays(row.kept)) continue;
    // A client's port says nothing to anybody.
    const Staying found{row.kept.owner, row.kept.inbound == 0,
                        to_text(row.kept.inbound == 0 ? row.remote : row.local), 1};
    const auto known = std::ranges::find_if(out, [&](const Staying& other) {
      return other.owner == found.owner && other.outgoing == found.outgoing &&
             other.address == found.address;
    });
    if (known == out.end())
      out.push_back(found);
    else
      ++known->count;
  }
  return out;
}

void OpenBefore::adopt_socket(const Attachment& attachment, int socket,
                              const std::set<uint16_t>& spared) {
  fb_address local, remote;
  if (!is_connection(socket, &local, &remote)) return;
  uint64_t cookie = 0;
  socklen_t size = sizeof(cookie);
  if (getsockopt(socket, SOL_SOCKET, SO_COOKIE, &cookie, &size) != 0 || owners_.contains(cookie))
    return;
  OutboundRow redirected;
  if (bpf_map_lookup_elem(programs_.map("fb_outbound"), &socket, &redirected) == 0) return;
  const auto& ports = attachment.ports();
  const bool inbound = std::ranges::find(ports, local.port) != ports.end();
  uint8_t steered = 0;
  if (inbound && bpf_map_lookup_elem(attachment.bypass(), &remote.port, &steered) == 0 &&
      (is_loopback(remote) || std::memcmp(remote.ip, local.ip, sizeof(local.ip)) == 0))
    return;  // the proxy's own
  if (!inbound && is_loopback(remote) && spared.contains(remote.port)) return;

  KeptRow row;
  row.owner = attachment.number();
  row.slot = attachment.slot();
  row.inbound = inbound ? 1 : 0;
  row.cookie = cookie;
  const auto value = static_cast<uint64_t>(socket);
  // Until the row is there, the program does not look at what is written.
  if (bpf_map_update_elem(programs_.map("fb_open_before"), &cookie, &value, BPF_ANY) != 0 ||
      bpf_map_update_elem(programs_.map("fb_kept"), &socket, &row, BPF_ANY) != 0) {
    const bool busy = errno == EBUSY || errno == EOPNOTSUPP;
    ++not_ours_[(inbound ? "at " + std::to_string(local.port) : "to " + to_text(remote)) +
                " (the kernel says: " + std::strerror(errno) +
                (busy ? ", it is in the sockmap of another program)" : ")")];
    said(cookie);
    return;
  }
  owners_[cookie] = attachment.number();
  unsaid_.insert(cookie);
}

Outcome OpenBefore::list(std::vector<ListedRow>* rows) const {
  if (!programs_.started()) return refused("iter/tcp", ENOENT);
  bpf_program* program = programs_.objects().program("fb_list");
  const Link link(bpf_program__attach_iter(program, nullptr));
  if (!link) return refused("iter/tcp", errno);
  const UniqueFd file(bpf_iter_create(bpf_link__fd(link.get())));
  if (!file.valid()) return refused("iter/tcp", errno);
  std::vector<char> bytes;
  char buffer[64 * sizeof(ListedRow)];
  ssize_t size = 0;
  while ((size = read(file.get(), buffer, sizeof(buffer))) > 0)
    bytes.insert(bytes.end(), buffer, buffer + size);
  if (size < 0) return refused("iter/tcp", errno);
  for (size_t at = 0; at + sizeof(ListedRow) <= bytes.size(); at += sizeof(ListedRow)) {
    ListedRow row;
    std::memcpy(&row, bytes.data() + at, sizeof(row));
    rows->push_back(row);
  }
  return std::nullopt;
}

void OpenBefore::look(const std::vector<const Attachment*>& attachments) {
  std::vector<ListedRow> rows;
  if (list(&rows)) return;  // what it says of sockets is not known; the next look may be luckier
  std::map<uint64_t, uint32_t> behind, ending;
  std::set<uint64_t> open, stuck, read_up;
  for (const ListedRow& row : rows) {
    const uint64_t cookie = row.kept.cookie;
    open.insert(cookie);
    const auto looks = ending_.find(cookie);
    if (looks != ending_.end() && looks->second > 1) ending[cookie] = looks->second - 1;
    if (!unsaid_.contains(cookie) && looks == ending_.end()) continue;
    const auto before = behind_.find(cookie);
    if (row.unread == 0) {
      if (taken_out_.contains(cookie)) read_up.insert(cookie);
    } else if (before != behind_.end() && before->second == row.copied) {
      stuck.insert(cookie);
    } else {
      behind[cookie] = row.copied;
    }
  }
  behind_ = std::move(behind);
  ending_ = std::move(ending);
  for (std::set<uint64_t>* cookies : {&unsaid_, &taken_out_})
    std::erase_if(*cookies, [&](uint64_t cookie) { return !open.contains(cookie); });
  if (stuck.empty() && read_up.empty()) return;
  for (const uint64_t cookie : stuck) {
    bpf_map_delete_elem(programs_.map("fb_open_before"), &cookie);
    if (unsaid_.contains(cookie)) taken_out_.insert(cookie);
  }
  help(attachments, stuck, read_up);
}

void OpenBefore::help(const std::vector<const Attachment*>& attachments,
                      const std::set<uint64_t>& stuck, const std::set<uint64_t>& read_up) {
  for (const Attachment* attachment : attachments) {
    for (const pid_t process : attachment->processes()) {
      for_each_descriptor(process, [&](int socket) {
        uint64_t cookie = 0;
        socklen_t size = sizeof(cookie);
        if (getsockopt(socket, SOL_SOCKET, SO_COOKIE, &cookie, &size) != 0) return;
        const bool has_read_up = stuck.contains(cookie) && wake_reader(socket);
        const auto value = static_cast<uint64_t>(socket);
        if ((has_read_up || read_up.contains(cookie)) && taken_out_.contains(cookie) &&
            bpf_map_update_elem(programs_.map("fb_open_before"), &cookie, &value, BPF_ANY) == 0)
          taken_out_.erase(cookie);
      });
    }
  }
}

void OpenBefore::said(uint64_t cookie) {
  bpf_map_delete_elem(programs_.map("fb_open_before"), &cookie);
  taken_out_.erase(cookie);
  if (unsaid_.erase(cookie) > 0) ending_[cookie] = kLooksAtTheEnd;
}

void OpenBefore::leave(const Attachment& attachment) {
  const uint32_t owner = attachment.number();
  std::set<uint64_t> left, stuck;
  for (const auto& [cookie, by] : owners_) {
    if (by != owner) continue;
    said(cookie);
    ending_.erase(cookie);
    left.insert(cookie);
  }
  std::erase_if(owners_, [owner](const auto& row) { return row.second == owner; });
  std::vector<ListedRow> rows;
  if (left.empty() || list(&rows)) return;
  for (const ListedRow& row : rows) {
    if (row.unread > 0 && left.contains(row.kept.cookie)) stuck.insert(row.kept.cookie);
  }
  if (!stuck.empty()) help({&attachment}, stuck, {});
}

}  // namespace filibuster::bpf
