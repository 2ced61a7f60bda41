#include "daemon/agents/late_passages.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/resp/command_parser.h"
#include "core/rpc/protocol.h"
#include "daemon/relay/byte_queue.h"

namespace filibuster {
namespace {

constexpr size_t kChunk = 16 * 1024;
// One event moves at most this much, so that one fast connection does not keep the hub's thread.
constexpr size_t kBudget = 1u << 20;

void never_block(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags >= 0) ::fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

bool would_block(int error) {
  return error == EAGAIN || error == EWOULDBLOCK;
}

}  // namespace

struct LatePassages::Direction {
  int from, to;
  ByteQueue waiting;
  bool ended = false;   // `from` has sent its end
  bool passed = false;  // and `to` was told
};

// Counts the commands that a client sends.
class CommandCount final : resp::CommandHandler {
 public:
  // False: these are no commands, or more than `most` of them have begun.
  bool feed(std::string_view bytes, uint32_t most) {
    const resp::CommandState state = parser_.feed(bytes.data(), bytes.size());
    const uint32_t begun = whole_ + (state == resp::CommandState::kStart ? 0 : 1);
    return state != resp::CommandState::kInvalid && begun <= most;
  }

 private:
  void on_command(const resp::Command&, size_t) override { ++whole_; }

  uint32_t whole_ = 0;
  resp::CommandParser parser_{this};
};

struct LatePassages::Passage {
  Passage(uint64_t number_, const HandOff& hand_off_, UniqueFd held_, UniqueFd real_)
      : number(number_),
        hand_off(hand_off_),
        held(std::move(held_)),
        real(std::move(real_)),
        up{held.get(), real.get(), {}},
        down{real.get(), held.get(), {}} {}
  // The agent's process may hold the connection still.
  ~Passage() { ::shutdown(real.get(), SHUT_RDWR); }
  uint64_t number;
  HandOff hand_off;
  UniqueFd held, real;
  Direction up, down;
  uint64_t latency_ns = 0, deadline_ns = 0;
  uint64_t due_ns = 0;  // when what the server has sent may pass; 0: it has sent nothing yet
  bool waits = true;
  bool holds = false;       // nothing passes yet
  CommandCount commands;    // of a connection to Redis
  bool sent_ahead = false;  // more than those whose replies are late, while these were awaited
};

LatePassages::LatePassages(int epoll_fd, uint64_t tag, Silent silent)
    : epoll_fd_(epoll_fd), tag_(tag), silent_(std::move(silent)) {}

LatePassages::~LatePassages() = default;

// Edge-triggered: what waits does not wake us again and again.
bool LatePassages::watch(int fd, uint64_t data, int operation) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.u64 = tag_ | data;
  return ::epoll_ctl(epoll_fd_, operation, fd, &event) == 0 ||
         (errno == EEXIST && ::epoll_ctl(epoll_fd_, EPOLL_CTL_MOD, fd, &event) == 0);
}

bool LatePassages::take(const HandOff& hand_off, UniqueFd held, UniqueFd real, uint64_t latency_ns,
                        uint64_t deadline_ns, bool holds) {
  if (!real.valid()) return false;
  never_block(held.get());
  never_block(real.get());
  const uint64_t number = next_number_++;
  auto passage = std::make_unique<Passage>(number, hand_off, std::move(held), std::move(real));
  passage->latency_ns = latency_ns;
  passage->deadline_ns = deadline_ns;
  passage->holds = holds;
  if (!watch(passage->held.get(), number, EPOLL_CTL_ADD) ||
      !watch(passage->real.get(), number, EPOLL_CTL_ADD)) {
    close_with_reset(std::move(passage->held));
    return false;
  }
  passages_.emplace(number, std::move(passage));
  return true;
}

void LatePassages::ready(uint64_t number, uint64_t now_ns) {
  const auto place = passages_.find(number);
  if (place != passages_.end() && !move(place->second.get(), now_ns)) passages_.erase(place);
}

bool LatePassages::move(Passage* passage, uint64_t now_ns) {
  const auto broken = [&] {
    close_with_reset(std::move(passage->held));
    close_with_reset(std::move(passage->real));
    return false;
  };
  if (passage->holds) return true;
  if (!move(passage, &passage->up)) return broken();
  if (passage->waits) {
    char byte = 0;
    const ssize_t size = ::recv(passage->real.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (size < 0 && !would_block(errno) && errno != EINTR) return broken();
    if (size >= 0 && passage->due_ns == 0) passage->due_ns = now_ns + passage->latency_ns;
    return true;
  }
  if (!move(passage, &passage->down)) return broken();
  return !passage->up.passed || !passage->down.passed;
}

bool LatePassages::move(Passage* passage, Direction* direction) {
  for (size_t budget = kBudget; budget > 0;) {
    while (!direction->waiting.empty()) {
      const std::string_view bytes = direction->waiting.view();
      const ssize_t sent =
          ::send(direction->to, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0) return would_block(errno);
      direction->waiting.take(static_cast<size_t>(sent));
    }
    if (direction->ended) {
      if (!std::exchange(direction->passed, true)) ::shutdown(direction->to, SHUT_WR);
      return true;
    }
    char buffer[kChunk];
    const ssize_t size = ::recv(direction->from, buffer, sizeof buffer, MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return would_block(errno);
    if (size == 0) direction->ended = true;
    const std::string_view bytes(buffer, static_cast<size_t>(size));
    direction->waiting.append(bytes);
    const HandOff& hand_off = passage->hand_off;
    if (direction == &passage->up && passage->waits &&
        hand_off.protocol == static_cast<uint8_t>(Protocol::kRedis) &&
        !passage->commands.feed(bytes, hand_off.replies))
      passage->sent_ahead = true;
    budget -= std::min(budget, static_cast<size_t>(size));
  }
  // Asked anew, epoll tells at once that there is more.
  return watch(direction->from, passage->number, EPOLL_CTL_MOD);
}

bool LatePassages::is_held(uint32_t plan_entry) const {
  return std::any_of(passages_.begin(), passages_.end(), [&](const auto& row) {
    return row.second->hand_off.plan_entry == plan_entry && row.second->holds;
  });
}

void LatePassages::release(uint32_t plan_entry, uint64_t now_ns) {
  std::erase_if(passages_, [&](auto& row) {
    Passage& passage = *row.second;
    if (passage.hand_off.plan_entry != plan_entry || !passage.holds) return false;
    passage.holds = false;
    return !move(&passage, now_ns);
  });
}

void LatePassages::expire(uint64_t now_ns) {
  std::erase_if(passages_, [&](auto& row) {
    Passage& passage = *row.second;
    if (!passage.waits) return false;
    if (passage.due_ns != 0 && passage.due_ns <= now_ns) {
      passage.waits = false;
      return !move(&passage, now_ns);
    }
    if (passage.due_ns != 0 || passage.deadline_ns > now_ns) return false;
    silent_(passage.hand_off.execution, passage.hand_off.rpc);
    close_with_reset(std::move(passage.held));
    return true;
  });
}

uint64_t LatePassages::next_deadline_ns() const {
  uint64_t next = 0;
  for (const auto& [number, passage] : passages_) {
    if (!passage->waits) continue;
    const uint64_t one = passage->due_ns != 0 ? passage->due_ns : passage->deadline_ns;
    if (next == 0 || one < next) next = one;
  }
  return next;
}

void LatePassages::end_execution(uint32_t execution) {
  std::erase_if(passages_, [&](auto& row) {
    Passage& passage = *row.second;
    if (passage.hand_off.execution != execution || !(passage.waits || passage.sent_ahead))
      return false;
    close_with_reset(std::move(passage.held));
    return true;
  });
}

}  // namespace filibuster
