#include "daemon/proxy/proxy.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>

namespace filibuster::proxy {
namespace {

constexpr size_t kBuffer = 64 * 1024;
// How long a connect waits for its client's first bytes. A client that waits for its server's first ones loses
// no more than this, once.
constexpr uint64_t kConnectWithinNs = 3'000'000;
constexpr int kAcceptsAtOnce = 64;
constexpr size_t kEventsAtOnce = 256;
// How long the next bytes are waited for without sleep: about what it takes to be woken.
constexpr uint64_t kSpinNs = 25'000;
// How often events are looked for that nobody is woken for: each millisecond where some have just come, else more and more
// rarely, at last each 32 ms.
constexpr uint32_t kMostQuietLooks = 5;
// A connect that was led here a moment before its process was detached is in the listener's queue by then.
constexpr uint64_t kOnTheirWayNs = 100'000'000;
// How often it is asked whether clients that have ended their stream are gone.
constexpr uint64_t kCheckNs = 50'000'000;
// When the proxy leaves: how long a connection without a request may go on idle, and how long one of HTTP/2 stays
// after its GOAWAY, since a request may have been on its way. Who keeps connections must expect that they end after the
// first of these: Node's and Apache's servers wait no longer.
constexpr uint64_t kIdleNs = 5'000'000'000;
constexpr uint64_t kAfterGoawayNs = 1'000'000'000;
// How long an end that was told that nothing follows may take to close.
constexpr uint64_t kLingerNs = 3'000'000'000;

void set_nodelay(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

uint64_t tagged(uint64_t tag, uint64_t value) {
  return tag << 56 | value;
}

}  // namespace

Proxy::Proxy(Door door, std::unique_ptr<EventSource> events, Routes routes)
    : observer_(door, std::move(events)),
      door_(door),
      routes_(std::move(routes)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      buffer_(kBuffer),
      settling_buffer_(kBuffer) {
  if (observer_.descriptor() < 0) return;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = tagged(static_cast<uint64_t>(Tag::kEvents), 0);
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, observer_.descriptor(), &event);
}

Proxy::~Proxy() = default;

Result<void> Proxy::listen(UniqueFd fd, PairKind kind) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = tagged(static_cast<uint64_t>(Tag::kListener), listeners_.size());
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd.get(), &event) != 0)
    return system_error("A listener cannot be watched");
  listeners_.push_back(std::make_unique<Listener>(Listener{std::move(fd), kind}));
  return {};
}

Result<void> Proxy::watch(int fd, std::function<void()> ready) {
  return watch_for(fd, EPOLLIN, std::move(ready));
}

Result<void> Proxy::watch_once(int fd, std::function<void()> ready) {
  return watch_for(fd, EPOLLIN | EPOLLONESHOT, std::move(ready));
}

Result<void> Proxy::watch_for(int fd, uint32_t events, std::function<void()> ready) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = tagged(static_cast<uint64_t>(Tag::kWatch), watched_.size());
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
    return system_error("A descriptor cannot be watched");
  watched_.push_back(std::move(ready));
  return {};
}

void Proxy::unwatch(int fd) {
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void Proxy::run() {
  std::array<epoll_event, kEventsAtOnce> events{};
  bool busy = false;
  while (!stopped_ && !(leaving_ && pairs_.empty() && listeners_.empty())) {
    const int count = wait(events, busy);
    busy = count > 0;
    if (count < 0 && errno != EINTR) return;
    quiet_looks_ = observer_.drain() ? 0 : quiet_looks_ + 1;
    for (const bool answers : {true, false}) {
      for (int i = 0; i < count; ++i) handle(events[static_cast<size_t>(i)], answers);
    }
    after_events();
  }
}

// `busy`: bytes have just come. Then others are likely to follow in no time, and to sleep and be woken would take longer.
int Proxy::wait(std::span<epoll_event> events, bool busy) {
  const auto poll = [&](int timeout) {
    return ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout);
  };
  static const bool kAlone = std::thread::hardware_concurrency() < 2;
  if (busy && !kAlone) {
    const uint64_t until = clock_ns() + kSpinNs;
    do {
      const int count = poll(0);
      if (count != 0) return count;
    } while (clock_ns() < until);
  }
  return poll(timeout_ms());
}

// What the attached process answers is handled first.
void Proxy::handle(const epoll_event& event, bool answers) {
  const auto tag = static_cast<Tag>(event.data.u64 >> 56);
  const uint64_t value = event.data.u64 & ((uint64_t{1} << 56) - 1);
  if (tag != Tag::kClient && tag != Tag::kServer) {
    if (answers) return;
    if (tag == Tag::kListener && value < listeners_.size())
      accept_some(*listeners_[value], kAcceptsAtOnce);
    if (tag == Tag::kWatch && value < watched_.size()) watched_[value]();
    return;
  }
  const auto found = pairs_.find(value);
  if (found == pairs_.end()) return;
  Pair& pair = *found->second;
  Side& side = tag == Tag::kClient ? pair.client : pair.server;
  if ((pair.kind == PairKind::kInbound && tag == Tag::kServer) != answers) return;
  if (&side == &pair.server && pair.state == Pair::State::kConnecting) {
    if ((event.events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0) connected(pair);
    return;
  }
  if ((event.events & EPOLLOUT) != 0) writable(pair, side);
  if (pair.state == Pair::State::kClosed) return;
  if ((event.events & EPOLLIN) != 0 && (side.interest & EPOLLIN) != 0) readable(pair, side);
  if (pair.state == Pair::State::kClosed) return;
  if ((event.events & (EPOLLERR | EPOLLHUP)) != 0) failed(pair, side);
}

bool Proxy::accept_some(Listener& listener, int most) {
  for (; most > 0; --most) {
    UniqueFd fd(::accept4(listener.fd.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd.valid()) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
        pause_listeners(true);
      return false;
    }
    const auto peer = peer_address(fd.get());
    if (!peer) continue;  // it was reset already
    auto made = std::make_unique<Pair>();
    Pair& pair = *made;
    pair.kind = listener.kind;
    pair.id = ++last_id_;
    pair.client.pair = pair.server.pair = &pair;
    pair.peer = *peer;
    pair.moved_ns = clock_ns();
    if (leaving_) pair.farewell.begin();
    set_nodelay(fd.get());
    if (pair.kind == PairKind::kOutbound) {
      door_.inner(fd.get());
      if (!keeps_) pair.farewell.end_http1();
    }
    pair.client.fd = std::move(fd);
    pairs_.emplace(pair.id, std::move(made));
    if (pair.kind == PairKind::kOutbound) {
      start_outbound(pair);
    } else {
      start_inbound(pair);
    }
  }
  return true;
}

void Proxy::start_outbound(Pair& pair) {
  const auto target = routes_.outbound(pair.peer);
  observer_.add(&pair);
  if (!target) return reset(pair);
  pair.target = *target;
  waiting_.push_back({clock_ns() + kConnectWithinNs, pair.id});
  update(pair, pair.client);
  readable(pair, pair.client);
}

void Proxy::start_inbound(Pair& pair) {
  const auto asked = local_address(pair.client.fd.get());
  const auto target = asked ? routes_.inbound(*asked) : std::nullopt;
  if (!target) return reset(pair);
  pair.target = *target;
  connect_on(pair, pair.server);
}

int Proxy::timeout_ms() const {
  uint64_t next = listen_until_ns_;
  for (const auto* deadlines : {&waiting_, &refused_}) {
    if (!deadlines->empty() && (next == 0 || deadlines->front().at_ns < next))
      next = deadlines->front().at_ns;
  }
  if (!half_closed_.empty() || leaving_)
    next = next == 0 ? next_check_ns_ : std::min(next, next_check_ns_);
  const int look = looks_ && !leaving_ ? 1 << std::min(quiet_looks_, kMostQuietLooks) : -1;
  if (next == 0) return look;
  const uint64_t now = clock_ns();
  const int left = next <= now ? 0 : static_cast<int>((next - now + 999'999) / 1'000'000);
  return look < 0 ? left : std::min(left, look);
}

void Proxy::after_events() {
  for (const uint64_t id : observer_.take_used()) {
    const auto found = pairs_.find(id);
    if (found != pairs_.end()) reset(*found->second);
  }
  const uint64_t now = clock_ns();
  while (!waiting_.empty() && waiting_.front().at_ns <= now) {
    const auto found = pairs_.find(waiting_.front().pair);
    waiting_.pop_front();
    if (found != pairs_.end() && found->second->state == Pair::State::kAccepted)
      connect_on(*found->second, found->second->server);
  }
  while (!refused_.empty() && refused_.front().at_ns <= now) {
    const auto found = pairs_.find(refused_.front().pair);
    refused_.pop_front();
    if (found != pairs_.end()) reset(*found->second);
  }
  if (listen_until_ns_ != 0 && now >= listen_until_ns_ && !listeners_.empty()) {
    for (const auto& listener : listeners_) {
      while (accept_some(*listener, kAcceptsAtOnce)) {
      }
    }
    listeners_.clear();
    listen_until_ns_ = 0;
  }
  if (now >= next_check_ns_) {
    next_check_ns_ = now + kCheckNs;
    sweep();
  }
  if (!closed_.empty()) {
    closed_.clear();
    pause_listeners(false);
  }
}

void Proxy::sweep() {
  std::vector<uint64_t> clients;
  clients.swap(half_closed_);
  for (const uint64_t id : clients) {
    const auto found = pairs_.find(id);
    if (found != pairs_.end()) watch_client(*found->second);
  }
  if (!leaving_) return;
  const uint64_t now = clock_ns();
  std::vector<Pair*> ending, ended;
  for (const auto& [id, pair] : pairs_) {
    const uint64_t still = now - pair->moved_ns;
    if (pair->ending) {
      if (still >= kLingerNs) ended.push_back(pair.get());
      continue;
    }
    const bool over = pair->farewell.is_over();
    if ((over || pair->farewell.is_idle()) && pair->state == Pair::State::kOpen &&
        still >= (over ? kAfterGoawayNs : kIdleNs))
      ending.push_back(pair.get());
  }
  for (Pair* pair : ending) end(*pair);
  for (Pair* pair : ended) close(*pair);
}

// Without room for a descriptor nothing is accepted until a connection has ended.
void Proxy::pause_listeners(bool pause) {
  for (size_t i = 0; i < listeners_.size(); ++i) {
    Listener& listener = *listeners_[i];
    if (listener.paused == pause) continue;
    listener.paused = pause;
    epoll_event event{};
    if (!pause) event.events = EPOLLIN;
    event.data.u64 = tagged(static_cast<uint64_t>(Tag::kListener), i);
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, listener.fd.get(), &event);
  }
}

void Proxy::leave() {
  if (leaving_) return;
  leaving_ = true;
  next_check_ns_ = clock_ns();
  std::vector<Pair*> pairs;
  pairs.reserve(pairs_.size());
  for (const auto& [id, pair] : pairs_) pairs.push_back(pair.get());
  for (Pair* pair : pairs) say_farewell(*pair);
}

void Proxy::close_listeners() {
  if (listen_until_ns_ == 0) listen_until_ns_ = clock_ns() + kOnTheirWayNs;
}

void Proxy::reset_all() {
  while (!pairs_.empty()) reset(*pairs_.begin()->second);
  closed_.clear();
  stopped_ = true;
}

void Proxy::update(Pair& pair, Side& side) {
  if (!side.fd.valid() || pair.state == Pair::State::kClosed) return;
  const Side& other = pair.other(side);
  const bool connecting = &side == &pair.server && pair.state == Pair::State::kConnecting;
  uint32_t interest = 0;
  if (!side.ended && other.waiting.empty() && !pair.dropping) interest |= EPOLLIN;
  if (connecting) {
    interest = EPOLLOUT;
  } else if (!side.waiting.empty()) {
    interest |= EPOLLOUT;
  }
  if (side.registered && side.interest == interest) return;
  epoll_event event{};
  event.events = interest;
  event.data.u64 =
      tagged(static_cast<uint64_t>(&side == &pair.client ? Tag::kClient : Tag::kServer), pair.id);
  const int operation = side.registered ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  side.interest = interest;
  side.registered = true;
  ::epoll_ctl(epoll_.get(), operation, side.fd.get(), &event);
}

}  // namespace filibuster::proxy
