#include "daemon/agents/finisher.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "core/http1/message_parser.h"
#include "core/resp/reply_parser.h"
#include "core/rpc/protocol.h"
#include "daemon/agents/http1_answer.h"
#include "daemon/model/execution_record.h"

namespace filibuster {
namespace {

// The two descriptors of one connection share its number.
constexpr uint64_t kRealBit = 1ull << 55;
constexpr uint64_t kNumberMask = kRealBit - 1;
// One readable event reads at most this much, so that one fast server does not keep the hub's thread.
constexpr size_t kReadBudget = 1u << 20;

void set_nonblocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags >= 0) ::fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

// Finds where a server's answer ends.
class AnswerEnd {
 public:
  virtual ~AnswerEnd() = default;
  // True: the answer has ended, or the bytes are none.
  virtual bool feed(const char* data, size_t size) = 0;
};

// Keeps the answer, which is sent changed.
class KeptAnswer final : public AnswerEnd {
 public:
  explicit KeptAnswer(bool head_request) : answer(head_request) {}
  bool feed(const char* data, size_t size) override { return answer.feed(data, size); }
  Http1Answer answer;
};

// The parser does not report interim responses, so on_complete means the end of the answer.
class HttpAnswerEnd final : public AnswerEnd, http1::Handler {
 public:
  explicit HttpAnswerEnd(bool head_request) {
    parser_.expect_response_to(head_request ? "HEAD" : "GET");
  }
  bool feed(const char* data, size_t size) override {
    const http1::ParseState state = parser_.feed(data, size);
    return done_ || state == http1::ParseState::kInvalid || state == http1::ParseState::kUpgraded;
  }

 private:
  void on_head(const http1::MessageHead&, size_t) override {}
  void on_body(const char*, size_t) override {}
  void on_complete(size_t, Hash128, uint64_t) override { done_ = true; }

  bool done_ = false;
  http1::Outstanding outstanding_;
  http1::MessageParser parser_{&outstanding_, this};
};

class RedisAnswerEnd final : public AnswerEnd, resp::ReplyHandler {
 public:
  explicit RedisAnswerEnd(uint32_t replies) : left_(replies) {}
  bool feed(const char* data, size_t size) override {
    return parser_.feed(data, size) == resp::ReplyState::kInvalid || left_ == 0;
  }

 private:
  void on_reply(const resp::Reply& reply, size_t) override {
    if (!reply.is_push && left_ != 0) --left_;
  }

  uint32_t left_;
  resp::ReplyParser parser_{this};
};

bool sends_answer(HandOffKind kind) {
  return kind == HandOffKind::kDrainThenAnswer || kind == HandOffKind::kChange;
}

std::unique_ptr<AnswerEnd> answer_end(const HandOff& hand_off, bool spares_errors) {
  if (hand_off.protocol == static_cast<uint8_t>(Protocol::kRedis))
    return std::make_unique<RedisAnswerEnd>(hand_off.replies);
  if (hand_off.kind == HandOffKind::kChange || spares_errors)
    return std::make_unique<KeptAnswer>(hand_off.head_request != 0);
  return std::make_unique<HttpAnswerEnd>(hand_off.head_request != 0);
}

}  // namespace

struct Finisher::Connection {
  Connection(const HandOff& h, UniqueFd held_end, UniqueFd real_end, Order order)
      : hand_off(h),
        held(std::move(held_end)),
        real(std::move(real_end)),
        answer(std::move(order.answer)),
        fault(std::move(order.change)),
        holds(order.holds),
        kept(h.kind == HandOffKind::kChange || order.spares_errors),
        end(answer_end(h, order.spares_errors)) {
    allowed = answer.size();
  }
  ~Connection() { close_real(); }
  // Closing is not enough, since the agent's process may hold the connection still. By the shutdown it
  // sees that the effect has come, and its threads that wait for the connection wake up.
  void close_real() {
    if (real.valid()) ::shutdown(real.get(), SHUT_RDWR);
    real.reset();
  }
  HandOff hand_off;
  UniqueFd held, real;
  std::string answer;
  FaultSpec fault;     // kChange
  bool holds = false;  // kChange: nothing is forwarded yet
  size_t sent = 0, allowed = 0;
  struct Step {
    uint64_t at_ns;  // CLOCK_MONOTONIC
    size_t allowed;
  };
  std::deque<Step> steps;  // of an answer that is not sent at once
  std::string request;     // kChange: what the application has sent, and the server not yet taken
  bool server_is_full = false;  // its socket takes no more for now
  bool answered = false;        // `answer` is sent: the application's close is awaited
  bool stalls = false;          // `answer` is the half of one, and nothing follows it
  bool stalled() const { return stalls && sent == answer.size(); }
  // What the hang limit ends. What was answered needs no word, nor does a silence whose caller has given up.
  HangLimit::Reached reached() const {
    using Reached = HangLimit::Reached;
    if (answered) return Reached::kNot;
    if (real.valid()) return Reached::kByAnswer;
    if (!stalled() && (passes || sends_answer(hand_off.kind))) return Reached::kByReader;
    if (app_half_closed) return Reached::kNot;
    return stalled() ? Reached::kByStall : Reached::kBySilence;
  }
  bool app_half_closed = false;
  bool waits_without_limit = false;  // a thread of the caller does
  uint64_t limit_ns = 0;
  uint64_t deadline_ns = 0;
  bool passes = false;             // the server's error passes, in the place of the fault
  const bool kept;                 // `end` is a KeptAnswer
  std::unique_ptr<AnswerEnd> end;  // of the real answer
};

Finisher::Finisher(int epoll_fd, uint64_t tag, Report report, Unmet unmet, Passed passed)
    : epoll_fd_(epoll_fd),
      tag_(tag),
      report_(std::move(report)),
      unmet_(std::move(unmet)),
      passed_(std::move(passed)) {}

Finisher::~Finisher() {
  reset_all(0);
}

bool Finisher::watch(int fd, uint64_t data, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag_ | data;
  if (::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) == 0) return true;
  return errno == EEXIST && ::epoll_ctl(epoll_fd_, EPOLL_CTL_MOD, fd, &event) == 0;
}

bool Finisher::take(const HandOff& hand_off, UniqueFd held, UniqueFd real, Order order,
                    uint64_t hang_limit_ns, uint64_t now_ns) {
  const uint64_t number = next_number_++;
  auto connection =
      std::make_unique<Connection>(hand_off, std::move(held), std::move(real), std::move(order));
  connection->limit_ns = hang_limit_ns;
  connection->deadline_ns = now_ns + hang_limit_ns;
  set_nonblocking(connection->held.get());
  if (connection->real.valid()) set_nonblocking(connection->real.get());
  // Edge-triggered: a half-closed end stays silent until its limit without waking us again.
  const bool forwards = hand_off.kind == HandOffKind::kChange;
  const bool held_ok = watch(connection->held.get(), number,
                             EPOLLRDHUP | EPOLLET | (forwards ? uint32_t{EPOLLIN} : 0));
  const bool real_ok = !connection->real.valid() ||
                       watch(connection->real.get(), number | kRealBit, EPOLLIN | EPOLLRDHUP);
  if (!held_ok || !real_ok) {
    close_with_reset(std::move(connection->held));
    return false;
  }
  connections_.emplace(number, std::move(connection));
  return true;
}

void Finisher::ready(uint64_t data, uint32_t events) {
  const uint64_t number = data & kNumberMask;
  const auto place = connections_.find(number);
  if (place == connections_.end()) return;
  Connection* connection = place->second.get();
  if ((data & kRealBit) != 0) {
    if (connection->real.valid() && (events & EPOLLOUT) != 0) forward_request(number, connection);
    if (connection->real.valid() && (events & ~uint32_t{EPOLLOUT}) != 0)
      read_real(number, connection);
    return;
  }
  if ((events & (EPOLLHUP | EPOLLERR)) != 0) {
    connections_.erase(place);  // the application closed its end
    return;
  }
  if ((events & EPOLLRDHUP) != 0) connection->app_half_closed = true;
  if (connection->hand_off.kind == HandOffKind::kChange && connection->real.valid())
    forward_request(number, connection);
  if (connection->answered) {
    discard_input(connection);
    if (connection->app_half_closed) connections_.erase(place);
  } else if ((events & EPOLLOUT) != 0) {
    if (!send_answer(number, connection)) connections_.erase(number);
  }
}

void Finisher::forward_request(uint64_t number, Connection* connection) {
  constexpr size_t kMostWaiting = 256 * 1024;  // bytes that the server has not taken yet
  constexpr uint32_t kForAnswer = EPOLLIN | EPOLLRDHUP;
  if (connection->holds) return;
  std::string& waiting = connection->request;
  for (;;) {
    char buffer[16 * 1024];
    while (waiting.size() < kMostWaiting) {
      const ssize_t size = ::recv(connection->held.get(), buffer, sizeof buffer, MSG_DONTWAIT);
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) break;
      waiting.append(buffer, static_cast<size_t>(size));
    }
    if (waiting.empty()) break;
    const ssize_t sent =
        ::send(connection->real.get(), waiting.data(), waiting.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      waiting.erase(0, static_cast<size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      connection->server_is_full = true;
      watch(connection->real.get(), number | kRealBit, kForAnswer | EPOLLOUT);
      return;
    } else if (errno != EINTR) {
      waiting.clear();  // the server is gone, which reading its answer tells
      break;
    }
  }
  if (std::exchange(connection->server_is_full, false))
    watch(connection->real.get(), number | kRealBit, kForAnswer);
  if (connection->app_half_closed) ::shutdown(connection->real.get(), SHUT_WR);
}

void Finisher::read_real(uint64_t number, Connection* connection) {
  char buffer[16 * 1024];
  size_t budget = kReadBudget;
  while (budget > 0) {
    const ssize_t size = ::recv(connection->real.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    bool done = size <= 0;
    if (size > 0) {
      budget -= std::min(budget, static_cast<size_t>(size));
      done = connection->end->feed(buffer, static_cast<size_t>(size));
    }
    if (!done) continue;
    if (size <= 0 && connection->kept)
      static_cast<KeptAnswer&>(*connection->end).answer.end_of_stream();
    // Its bytes are there before the agent sees that the effect has come (elapse.cc).
    if (pass_error(number, connection)) return;
    connection->close_real();
    if (!end_drain(number, connection)) connections_.erase(number);
    return;
  }
}

bool Finisher::end_drain(uint64_t number, Connection* connection) {
  switch (connection->hand_off.kind) {
    case HandOffKind::kDrainThenReset:
      close_with_reset(std::move(connection->held));
      return false;
    case HandOffKind::kDrainThenAnswer:
      return send_answer(number, connection);
    case HandOffKind::kChange:
      return change(number, connection);
    default:
      return true;
  }
}

bool Finisher::pass_error(uint64_t number, Connection* connection) {
  if (!connection->kept || connection->hand_off.kind == HandOffKind::kChange) return false;
  const Http1Answer& answer = static_cast<KeptAnswer&>(*connection->end).answer;
  if (!answer.is_error()) return false;
  connection->answer = answer.render({}).bytes;
  connection->allowed = connection->answer.size();
  connection->passes = true;
  passed_(connection->hand_off,
          {answer.status(), kNoGrpcStatus, hash_bytes(answer.body().data(), answer.body().size()),
           answer.body().size(), answer.body()});
  const bool sends = send_answer(number, connection);
  connection->close_real();
  if (!sends) connections_.erase(number);
  return true;
}

bool Finisher::change(uint64_t number, Connection* connection) {
  Http1Answer::Rendered rendered =
      static_cast<KeptAnswer&>(*connection->end).answer.render(connection->fault);
  connection->end.reset();
  if (!rendered.problem.empty()) {
    unmet_(connection->hand_off, rendered.problem);
    close_with_reset(std::move(connection->held));
    return false;
  }
  connection->answer = std::move(rendered.bytes);
  connection->stalls = rendered.stalls;
  const uint64_t now_ns = clock_ns();
  // The caller's time begins with the answer.
  if (rendered.stalls)
    connection->deadline_ns = std::max(connection->deadline_ns, now_ns + connection->limit_ns);
  for (const Http1Answer::Step& step : rendered.steps) {
    if (step.wait_ns == 0) {
      connection->allowed = step.end;
    } else {
      connection->steps.push_back({now_ns + step.wait_ns, step.end});
    }
  }
  // The time that the fault takes is not the caller's.
  if (!connection->steps.empty()) connection->deadline_ns += rendered.steps.back().wait_ns;
  return send_answer(number, connection);
}

bool Finisher::send_answer(uint64_t number, Connection* connection) {
  const std::string& answer = connection->answer;
  while (connection->sent < connection->allowed) {
    const ssize_t size =
        ::send(connection->held.get(), answer.data() + connection->sent,
               connection->allowed - connection->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      return watch(connection->held.get(), number, EPOLLOUT | EPOLLRDHUP | EPOLLET);
    }
    if (size <= 0) return false;
    connection->sent += static_cast<size_t>(size);
  }
  if (connection->sent < answer.size()) return true;  // the next step sends more
  if (connection->stalls) return true;
  // The end is not closed yet: closing it with unread input would reset the connection and take the
  // answer away before the application has read it.
  ::shutdown(connection->held.get(), SHUT_WR);
  connection->answered = true;
  discard_input(connection);
  return watch(connection->held.get(), number, EPOLLIN | EPOLLRDHUP | EPOLLET);
}

void Finisher::discard_input(Connection* connection) {
  char buffer[4096];
  for (size_t budget = kReadBudget; budget > 0;) {
    const ssize_t size = ::recv(connection->held.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size == 0) connection->app_half_closed = true;
    if (size <= 0) return;
    budget -= std::min(budget, static_cast<size_t>(size));
  }
}

void Finisher::waits_without_limit(uint64_t rpc) {
  const auto place = std::find_if(connections_.begin(), connections_.end(), [rpc](const auto& row) {
    return row.second->hand_off.rpc == rpc;
  });
  if (place == connections_.end()) return;
  Connection& connection = *place->second;
  connection.waits_without_limit = true;
  if (!connection.stalled()) return;
  report_(connection.hand_off.execution, rpc, {HangLimit::Reached::kNoLimit, connection.limit_ns});
  close_with_reset(std::move(connection.held));
  connections_.erase(place);
}

bool Finisher::is_held(uint32_t plan_entry) const {
  return std::any_of(connections_.begin(), connections_.end(), [&](const auto& row) {
    return row.second->hand_off.plan_entry == plan_entry && row.second->holds;
  });
}

void Finisher::release(uint32_t plan_entry) {
  for (const auto& [number, connection] : connections_) {
    if (connection->hand_off.plan_entry != plan_entry || !connection->holds) continue;
    connection->holds = false;
    // What the application has sent meanwhile woke nobody.
    if (connection->real.valid()) forward_request(number, connection.get());
  }
}

void Finisher::expire(uint64_t now_ns) {
  std::vector<uint64_t> over, due;
  for (const auto& [number, connection] : connections_) {
    if (!connection->steps.empty() && connection->steps.front().at_ns <= now_ns)
      due.push_back(number);
  }
  for (const uint64_t number : due) {
    Connection* connection = connections_.at(number).get();
    while (!connection->steps.empty() && connection->steps.front().at_ns <= now_ns) {
      connection->allowed = connection->steps.front().allowed;
      connection->steps.pop_front();
    }
    if (!send_answer(number, connection)) connections_.erase(number);
  }
  for (const auto& [number, connection] : connections_) {
    if (connection->deadline_ns <= now_ns) over.push_back(number);
  }
  for (const uint64_t number : over) {
    Connection& connection = *connections_.at(number);
    const HandOff& hand_off = connection.hand_off;
    const HangLimit::Reached reached = connection.reached();
    if (reached != HangLimit::Reached::kNot)
      report_(hand_off.execution, hand_off.rpc,
              {reached, connection.limit_ns, connection.waits_without_limit});
    if (!connection.answered) close_with_reset(std::move(connection.held));
    connections_.erase(number);
  }
}

uint64_t Finisher::next_deadline_ns() const {
  uint64_t next = 0;
  for (const auto& [number, connection] : connections_) {
    const uint64_t one = connection->steps.empty()
                             ? connection->deadline_ns
                             : std::min(connection->deadline_ns, connection->steps.front().at_ns);
    if (next == 0 || one < next) next = one;
  }
  return next;
}

void Finisher::reset_all(uint32_t execution) {
  std::erase_if(connections_, [execution](auto& row) {
    Connection& connection = *row.second;
    if (execution != 0 && connection.hand_off.execution != execution) return false;
    if (!connection.answered) close_with_reset(std::move(connection.held));
    return true;
  });
}

}  // namespace filibuster
