// The messages of core/protocol/snapshot.h, by raw system calls.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>

#include "preload/inject/raw.h"

namespace filibuster::preload {

// Receives one message of exactly this size, with at most one descriptor. False: the peer is gone.
template <typename Message>
bool receive(int socket, Message* message, int* descriptor) {
  iovec data{message, sizeof *message};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  long size;
  do {
    size = raw::call(SYS_recvmsg, socket, raw::address_of(&header), MSG_CMSG_CLOEXEC);
  } while (size == -EINTR);
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); size > 0 && c != nullptr; c = CMSG_NXTHDR(&header, c)) {
    if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
      std::memcpy(descriptor, CMSG_DATA(c), sizeof *descriptor);
  }
  return size == static_cast<long>(sizeof *message);
}

template <typename Message>
void tell(int socket, const Message& message) {
  raw::send(socket, &message, sizeof message, MSG_NOSIGNAL);
}

// False: the peer is gone.
template <typename Message>
bool tell_with(int socket, const Message& message, int descriptor) {
  iovec data{const_cast<Message*>(&message), sizeof message};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  if (descriptor >= 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    cmsghdr* c = CMSG_FIRSTHDR(&header);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(c), &descriptor, sizeof descriptor);
  }
  return raw::call(SYS_sendmsg, socket, raw::address_of(&header), MSG_NOSIGNAL) ==
         static_cast<long>(sizeof message);
}

}  // namespace filibuster::preload
