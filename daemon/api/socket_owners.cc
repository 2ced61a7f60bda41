#include "daemon/api/socket_owners.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace filibuster {

SocketOwners::SocketOwners()
    : netlink_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)) {}

SocketOwners::Owner SocketOwners::ask(const sockaddr_in& there, const sockaddr_in& here) {
  struct {
    nlmsghdr header;
    inet_diag_req_v2 question;
  } request{};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST;  // of this one socket
  request.header.nlmsg_seq = ++asked_;
  request.question.sdiag_family = AF_INET;
  request.question.sdiag_protocol = IPPROTO_TCP;
  request.question.idiag_states = ~0u;
  inet_diag_sockid& id = request.question.id;
  id.idiag_sport = there.sin_port;
  id.idiag_src[0] = there.sin_addr.s_addr;
  id.idiag_dport = here.sin_port;
  id.idiag_dst[0] = here.sin_addr.s_addr;
  id.idiag_cookie[0] = id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  if (::send(netlink_.get(), &request, sizeof request, 0) != sizeof request) return {};

  // The answer is there when the question was sent. An older one may be, too, if a question was interrupted.
  alignas(nlmsghdr) char bytes[4096];
  while (true) {
    const ssize_t size = ::recv(netlink_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    nlmsghdr header;
    if (size < static_cast<ssize_t>(sizeof header)) return {};
    std::memcpy(&header, bytes, sizeof header);
    if (header.nlmsg_seq != asked_) continue;
    inet_diag_msg answer;
    if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
        size < static_cast<ssize_t>(NLMSG_HDRLEN + sizeof answer))
      return {};
    std::memcpy(&answer, bytes + NLMSG_HDRLEN, sizeof answer);
    // A socket that was closed and whose connection lingers is shown as root's.
    if (answer.idiag_inode == 0) return {Owner::State::kClosed, 0};
    return {Owner::State::kKnown, answer.idiag_uid};
  }
}

}  // namespace filibuster
