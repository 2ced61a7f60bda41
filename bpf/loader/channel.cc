#include "bpf/loader/channel.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace filibuster::bpf {
namespace {

constexpr size_t kMaxDatagram = 4096;

union Control {
  cmsghdr aligned;
  char bytes[CMSG_SPACE(kMaxDescriptors * sizeof(int))];
};

}  // namespace

Datagram receive(int socket) {
  Datagram datagram;
  datagram.bytes.resize(kMaxDatagram);
  Control control{};
  iovec piece{datagram.bytes.data(), datagram.bytes.size()};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof(control.bytes);
  ssize_t size = 0;
  do {
    size = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  datagram.bytes.resize(size > 0 ? static_cast<size_t>(size) : 0);
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
      datagram.descriptors.emplace_back(fd);
    }
  }
  return datagram;
}

bool send(int socket, const void* bytes, size_t size, const std::vector<int>& descriptors) {
  Control control{};
  iovec piece{const_cast<void*>(bytes), size};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control.bytes;
    message.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size() * sizeof(int));
  }
  ssize_t sent = 0;
  do {
    sent = sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(size);
}

}  // namespace filibuster::bpf
