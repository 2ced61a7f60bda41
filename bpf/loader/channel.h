// Datagrams with descriptors over a Unix SOCK_SEQPACKET socket (protocol.h).
#pragma once

#include <cstddef>
#include <vector>

#include "daemon/base/descriptors.h"

namespace filibuster::bpf {

inline constexpr size_t kMaxDescriptors = 8;

struct Datagram {
  std::vector<char> bytes;  // empty: the other end is gone
  std::vector<UniqueFd> descriptors;

  // The datagram as a message of exactly this size; null: it is none.
  template <typename Message>
  const Message* as() const {
    return bytes.size() == sizeof(Message) ? reinterpret_cast<const Message*>(bytes.data())
                                           : nullptr;
  }
};

// Waits for the next one.
Datagram receive(int socket);

// False: the other end is gone.
bool send(int socket, const void* message, size_t size, const std::vector<int>& descriptors = {});

}  // namespace filibuster::bpf
