#include "daemon/proxy/loader.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace filibuster::proxy {
namespace {

template <size_t kSize>
std::string text_in(const char (&text)[kSize]) {
  return {text, strnlen(text, kSize)};
}

Error gone() {
  return Error{"The loader of the eBPF programs has ended. Its own output says why."};
}

// Waits for one reply of type T, and the descriptors that come with it.
template <typename T>
bool receive(int socket, uint32_t magic, T* reply, std::vector<UniqueFd>* descriptors) {
  iovec data{reply, sizeof *reply};
  alignas(cmsghdr) char control[CMSG_SPACE(8 * sizeof(int))];
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  ssize_t size;
  do {
    size = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  for (cmsghdr* c = size <= 0 ? nullptr : CMSG_FIRSTHDR(&header); c != nullptr;
       c = CMSG_NXTHDR(&header, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    for (size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
      UniqueFd owned(fd);
      if (descriptors != nullptr) descriptors->push_back(std::move(owned));
    }
  }
  return size == static_cast<ssize_t>(sizeof *reply) && reply->magic == magic &&
         reply->version == bpf::kLoaderVersion;
}

template <typename T>
bool send_plain(int socket, const T& request) {
  return ::send(socket, &request, sizeof request, MSG_NOSIGNAL) ==
         static_cast<ssize_t>(sizeof request);
}

}  // namespace

Result<Attached> Loader::attach(const bpf::AttachRequest& request,
                                const std::vector<int>& listeners) {
  iovec data{const_cast<bpf::AttachRequest*>(&request), sizeof request};
  alignas(cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = CMSG_SPACE(listeners.size() * sizeof(int));
  cmsghdr* c = CMSG_FIRSTHDR(&header);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(listeners.size() * sizeof(int));
  std::memcpy(CMSG_DATA(c), listeners.data(), listeners.size() * sizeof(int));
  if (::sendmsg(socket_.get(), &header, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof request))
    return gone();
  bpf::AttachReply reply;
  std::vector<UniqueFd> maps;
  if (!receive(socket_.get(), bpf::kAttachReplyMagic, &reply, &maps)) return gone();
  if (reply.error != 0) return Error{text_in(reply.step) + ": " + text_in(reply.text)};
  if (maps.size() != 3) return Error{"The loader's answer has no maps. It is of another version."};
  return Attached{reply.slot, text_in(reply.text), std::move(maps[0]), std::move(maps[1]),
                  std::move(maps[2])};
}

Result<bpf::RetireReply> Loader::retire() {
  bpf::RetireReply reply;
  if (!send_plain(socket_.get(), bpf::RetireRequest{}) ||
      !receive(socket_.get(), bpf::kRetireReplyMagic, &reply, nullptr))
    return gone();
  return reply;
}

Result<void> Loader::detach() {
  if (!send_plain(socket_.get(), bpf::DetachRequest{})) return gone();
  return {};
}

Loader::Heard Loader::hear() {
  bpf::DetachReply reply;
  const ssize_t size = ::recv(socket_.get(), &reply, sizeof reply, MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return Heard::kNothing;
  if (size <= 0) return Heard::kGone;
  return size == static_cast<ssize_t>(sizeof reply) && reply.magic == bpf::kDetachReplyMagic
             ? Heard::kDetached
             : Heard::kNothing;
}

}  // namespace filibuster::proxy
