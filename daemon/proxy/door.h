// The agent that is preloaded into this process (preload/runtimes/attached/door.h). Without it, bytes are
// forwarded all the same, and nothing is asked or told.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/rpc/attached_call.h"
#include "daemon/proxy/address.h"

namespace filibuster::proxy {

class Door {
 public:
  Door() = default;
  // Looks for the agent. Without it: a door that leads nowhere.
  static Door find();

  bool open() const { return origin_ != nullptr; }
  // As filibuster_attached_origin. `stack` and `cause` stay valid until the next call.
  void origin(std::string_view stack, std::string_view cause) const {
    if (origin_ != nullptr) origin_(stack.data(), stack.size(), cause.data(), cause.size());
  }
  // The value of the only open request of the connection; empty: there is none, several, or it is not known.
  std::string open_request(int fd) const;
  // The value of the open request of this stream (HTTP/2); empty: there is none, or it is not known.
  std::string request_of_stream(int fd, uint32_t stream) const;
  // As filibuster_attached_request. The texts stay valid until the next call.
  void request(const AttachedCall& call) const {
    if (request_ != nullptr) request_(&call);
  }
  // As filibuster_attached_answered.
  bool answered(int fd, uint64_t call, uint16_t status) const {
    return answered_ != nullptr && answered_(fd, call, status) != 0;
  }
  void answers_lost(int fd) const {
    if (lost_ != nullptr) lost_(fd);
  }
  // As filibuster_attached_watched and filibuster_attached_seen. True: nothing need be told again.
  void watched(int fd, const Address& at, bool from_start) const;
  bool seen(int fd, bool requests, std::string_view bytes, uint64_t when_ns) const {
    return seen_ == nullptr || seen_(fd, requests, bytes.data(), bytes.size(), when_ns) != 0;
  }
  bool unseen(int fd, bool requests, size_t size, uint64_t when_ns) const {
    return seen_ == nullptr || seen_(fd, requests, nullptr, size, when_ns) != 0;
  }
  // As filibuster_attached_requests_lost.
  void requests_lost(uint32_t events) const {
    if (requests_lost_ != nullptr) requests_lost_(events);
  }
  void inner(int fd) const {
    if (inner_ != nullptr) inner_(fd);
  }

 private:
  void (*origin_)(const char*, size_t, const char*, size_t) = nullptr;
  int (*incoming_)(int, char*, size_t) = nullptr;
  int (*stream_)(int, unsigned, char*, size_t) = nullptr;
  void (*request_)(const AttachedCall*) = nullptr;
  int (*answered_)(int, uint64_t, unsigned) = nullptr;
  void (*lost_)(int) = nullptr;
  void (*inner_)(int) = nullptr;
  void (*requests_lost_)(unsigned) = nullptr;
  void (*watched_)(int, const sockaddr*, socklen_t, int) = nullptr;
  int (*seen_)(int, int, const char*, size_t, uint64_t) = nullptr;
};

}  // namespace filibuster::proxy
