// The requests of Go programs over TLS: each from where it was asked for to where its caller was answered. Pure.
//
// A request is announced before any of its bytes is written, and answered after the last byte that matters of its
// answer was read. Only those are kept which are not over, and of which a byte may still come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "daemon/proxy/events.h"

namespace filibuster::proxy {

class GoCalls {
 public:
  // Above it, those are forgotten that were announced long before, and of which no byte came.
  static constexpr size_t kMost = 16384;

  struct Answer {
    uint64_t call = 0;
    uint64_t pair = 0;    // the connection that carries it
    uint16_t status = 0;  // 0: an error
  };

  void begin(uint32_t process, uint64_t call, GoRequest request);
  // nullptr: it is not known.
  const GoRequest* find(uint64_t call) const;
  // The same, as long as no byte of it was forwarded.
  const GoRequest* find_unsent(uint64_t call) const;
  // Bytes of it were forwarded over this connection. The answer, if it has come before: a caller may give up early.
  std::optional<Answer> sent(uint64_t call, uint64_t pair);
  // nullopt: none of its bytes was forwarded yet, or it is not known.
  std::optional<Answer> answered(uint64_t call, uint16_t status);

  // Nobody answers over this connection any more.
  void closed(uint64_t pair);
  void exited(uint32_t process);
  void clear() { calls_.clear(); }
  size_t size() const { return calls_.size(); }

 private:
  struct Call {
    uint32_t process;
    GoRequest request;
    uint64_t pair = 0;
    bool over = false;  // it was given up before a byte of it came
    uint16_t status = 0;
  };
  std::unordered_map<uint64_t, Call> calls_;
};

}  // namespace filibuster::proxy
