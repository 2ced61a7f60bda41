// The agent that is preloaded into this process (preload/runtimes/attached/door.h). Without it, bytes are
// forwarded all the same, and nothing is asked or told.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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
  void inner(int fd) const {
    if (inner_ != nullptr) inner_(fd);
  }

 private:
  void (*origin_)(const char*, size_t, const char*, size_t) = nullptr;
  int (*incoming_)(int, char*, size_t) = nullptr;
  int (*stream_)(int, unsigned, char*, size_t) = nullptr;
  void (*inner_)(int) = nullptr;
};

}  // namespace filibuster::proxy
