// Where processes of other users register (core/protocol/control_page.h): an abstract Unix socket to which everybody
// can connect, and the token that opens it, which stands on the control pages alone.
#pragma once

#include <array>
#include <cstdint>

#include "core/protocol/control_page.h"
#include "core/result.h"
#include "daemon/base/descriptors.h"

namespace filibuster {

class Door {
 public:
  // Listens; SOCK_SEQPACKET, non-blocking.
  static Result<Door> open();

  // No door: number() is 0, and nothing opens it.
  Door() = default;

  int listener() const { return listener_.get(); }
  uint64_t number() const { return number_; }
  const std::array<uint8_t, kTokenSize>& token() const { return token_; }
  // Is it the token? The time that this takes does not depend on how much of it is right.
  bool opened_by(const uint8_t (&shown)[kTokenSize]) const;

 private:
  UniqueFd listener_;
  uint64_t number_ = 0;
  std::array<uint8_t, kTokenSize> token_{};
};

}  // namespace filibuster
