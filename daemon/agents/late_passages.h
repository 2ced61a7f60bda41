// Connections on which the server's answer is to come later (latency), and which go on behind it: those that nobody decrypts, and
// those to Redis. They are carried between the application and its server, and what the server sends first waits. From then on
// they are carried until an end closes. All sockets are non-blocking and watched by the hub's epoll set; the caller serialises
// the calls.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

#include "core/protocol/messages.h"
#include "daemon/base/descriptors.h"

namespace filibuster {

class LatePassages {
 public:
  // Takes the fault's RPC if its server has sent nothing within the hang limit.
  using Silent = std::function<void(uint32_t execution, uint64_t rpc)>;
  // Watched descriptors carry `tag | number` as epoll data; `tag` leaves the low 48 bits free.
  LatePassages(int epoll_fd, uint64_t tag, Silent silent);
  ~LatePassages();

  // `held`: the application's end, `real`: the server's. False: one of them cannot be watched, and both were closed.
  // `holds`: nothing passes before release().
  bool take(const HandOff& hand_off, UniqueFd held, UniqueFd real, uint64_t latency_ns,
            uint64_t deadline_ns, bool holds);
  // epoll reported something for `number` (without our tag).
  void ready(uint64_t number, uint64_t now_ns);
  // As those of the finisher.
  bool is_held(uint32_t plan_entry) const;
  void release(uint32_t plan_entry, uint64_t now_ns);
  void expire(uint64_t now_ns);
  // CLOCK_MONOTONIC; 0: none.
  uint64_t next_deadline_ns() const;
  // Resets what still waits of this execution. What is carried already goes on: its client may keep it. A connection to
  // Redis on which further commands were sent before the late reply came is reset, too: if its client had given the late
  // one up, it takes each reply for that of another command from then on, in later executions as well.
  void end_execution(uint32_t execution);

 private:
  struct Direction;
  struct Passage;

  // False: the passage is over.
  bool move(Passage* passage, uint64_t now_ns);
  // False: an end is broken.
  bool move(Passage* passage, Direction* direction);
  bool watch(int fd, uint64_t data, int operation);

  const int epoll_fd_;
  const uint64_t tag_;
  const Silent silent_;
  uint64_t next_number_ = 1;
  std::unordered_map<uint64_t, std::unique_ptr<Passage>> passages_;
};

}  // namespace filibuster
