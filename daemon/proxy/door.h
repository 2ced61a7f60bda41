// The agent that is preloaded into this process (preload/runtimes/attached/door.h). Without it, bytes are
// forwarded all the same, and nothing is asked or told.
#pragma once

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
  void inner(int fd) const {
    if (inner_ != nullptr) inner_(fd);
  }

 private:
  void (*origin_)(const char*, size_t, const char*, size_t) = nullptr;
  int (*incoming_)(int, char*, size_t) = nullptr;
  void (*inner_)(int) = nullptr;
};

}  // namespace filibuster::proxy
