#include "daemon/proxy/peer_sockets.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace filibuster::proxy {
namespace {

struct Question {
  nlmsghdr header;
  inet_diag_req_v2 request;
};

void put_address(const Address& address, uint32_t (&out)[4], bool ipv4) {
  std::memset(out, 0, sizeof out);
  constexpr size_t kMappedPrefix = 12;
  if (ipv4) {
    std::memcpy(out, address.ip.data() + kMappedPrefix, address.ip.size() - kMappedPrefix);
  } else {
    std::memcpy(out, address.ip.data(), address.ip.size());
  }
}

}  // namespace

PeerSockets::PeerSockets()
    : netlink_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)) {}

PeerSockets::State PeerSockets::ask(const Address& peer, const Address& local) const {
  Question question;
  std::memset(&question, 0, sizeof question);
  question.header.nlmsg_len = sizeof question;
  question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.header.nlmsg_flags = NLM_F_REQUEST;
  inet_diag_req_v2& request = question.request;
  const bool ipv4 = peer.is_ipv4();
  request.sdiag_family = ipv4 ? AF_INET : AF_INET6;
  request.sdiag_protocol = IPPROTO_TCP;
  request.idiag_states = ~0u;
  request.id.idiag_sport = htons(peer.port);
  request.id.idiag_dport = htons(local.port);
  put_address(peer, request.id.idiag_src, ipv4);
  put_address(local, request.id.idiag_dst, ipv4);
  request.id.idiag_cookie[0] = request.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  if (::send(netlink_.get(), &question, sizeof question, MSG_NOSIGNAL) !=
      static_cast<ssize_t>(sizeof question))
    return State::kUnknown;
  // The kernel answers before send() returns.
  alignas(nlmsghdr) char answer[4096];
  const ssize_t size = ::recv(netlink_.get(), answer, sizeof answer, MSG_DONTWAIT);
  nlmsghdr header;
  if (size < static_cast<ssize_t>(sizeof header)) return State::kUnknown;
  std::memcpy(&header, answer, sizeof header);
  const auto held = static_cast<size_t>(size) - NLMSG_HDRLEN;
  if (header.nlmsg_type == NLMSG_ERROR) {
    nlmsgerr error{};
    std::memcpy(&error, answer + NLMSG_HDRLEN, std::min(held, sizeof error));
    return error.error == -ENOENT ? State::kAbsent : State::kUnknown;
  }
  inet_diag_msg message{};
  if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY || held < sizeof message) return State::kUnknown;
  std::memcpy(&message, answer + NLMSG_HDRLEN, sizeof message);
  // A listening socket is found where there is no connection: the client's has the same port by chance.
  if (message.idiag_state == TCP_LISTEN) return State::kAbsent;
  return message.idiag_inode == 0 ? State::kClosed : State::kOpen;
}

}  // namespace filibuster::proxy
