#include "daemon/agents/agent_hub.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "daemon/agents/control_pages.h"
#include "daemon/agents/finisher.h"
#include "daemon/agents/lane.h"
#include "daemon/agents/recorder.h"
#include "daemon/agents/registration.h"
#include "daemon/agents/ring_reader.h"
#include "daemon/agents/symbolize.h"
#include "daemon/agents/target_table.h"
#include "daemon/relay/relays.h"

namespace filibuster {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// What epoll data names, in its upper byte; the lower 56 bits are an agent or a connection.
constexpr uint64_t kTagListen = 1ull << 56;
constexpr uint64_t kTagWake = 2ull << 56;
constexpr uint64_t kTagAgent = 3ull << 56;
constexpr uint64_t kTagFinisher = 4ull << 56;
constexpr uint64_t kTagRelay = 5ull << 56;
constexpr uint64_t kTagMask = 0xffull << 56;

// Rings hold about 3,000 events; an agent that writes one every microsecond is read in time.
constexpr int kDrainMs = 2;
// Below kLeaseNs / 10 (the lease is renewed in every turn), also for names reported while idle.
constexpr int kIdleMs = 50;
constexpr auto kQuiescenceStep = std::chrono::microseconds(500);
constexpr size_t kMaxAgents = 4096;
constexpr size_t kMaxEnded = 256;   // remembered for the report
constexpr int kMessagesPerTurn = 64;
// How long the streams of relayed connections may take to end when the session does.
constexpr uint64_t kRetirementNs = 3'000'000'000;

std::string executable_of(pid_t pid) {
  char path[PATH_MAX];
  const ssize_t size =
      ::readlink(("/proc/" + std::to_string(pid) + "/exe").c_str(), path, sizeof path);
  return size > 0 ? printable({path, static_cast<size_t>(size)}) : "unknown program";
}

struct Agent {
  enum class State : uint8_t {
    kConnected,   // has not said Hello yet
    kRegistered,
    kDropped,     // misbehaved: not read any more, its executions are incomplete
  };
  UniqueFd socket;
  State state = State::kConnected;
  AgentRecord record;
  EventSource source;
  std::optional<RingReader> ring;
};

class Hub final : public AgentHub, RelayHost {
 public:
  explicit Hub(const HubOptions& options)
      : options_(options), recorder_(options.index_parts), hang_limit_(options.hang_limit) {}
  ~Hub() override;
  Result<void> open();

  std::string address() const override { return "unix:" + socket_path_; }
  void add_targets(const std::vector<TargetRow>& rows) override;
  void freeze_names() override;
  void set_masks(const MaskTable& masks) override;
  void report_fields(bool wanted) override;
  Result<void> begin_execution(uint32_t execution,
                               const std::vector<PlannedRpcFault>& plan) override;
  bool wait_quiescent(milliseconds timeout) override;
  ExecutionRecord end_execution() override;
  ExecutionRecord snapshot(StackLines lines) override;
  std::vector<AgentRecord> agents() const override;
  bool has_agent(uint32_t pid) const override;
  void set_hang_limit(milliseconds limit) override;

 private:
  struct Drained {
    uint64_t events = 0;
    bool pending = false;  // a record is being written
  };

  void run();
  void retire_relays();
  int turn_ms() const;
  void handle(uint64_t data, uint32_t events);
  bool watch(int fd, uint64_t data, uint32_t events, int operation = EPOLL_CTL_ADD);
  void accept_agents();
  void read_agent(uint32_t id);
  // False: the connection is to be closed.
  bool greet(uint32_t id, Agent* agent, const Message& message);
  bool take_hand_off(Agent* agent, Message* message);
  const FaultSpec* fault_of(const StreamOrder& order) override;
  uint64_t hang_limit_ns() const override;
  void report(uint32_t execution, uint64_t rpc, const std::string& text) override;
  void unmet(const StreamOrder& order, const std::string& why) override;
  void note(const std::string& text, bool harmed) override;
  void drop(Agent* agent, const std::string& why);
  void end_agent(uint32_t id);
  Drained drain(Agent* agent);
  Drained drain_all();
  void on_listen(const Agent& agent, std::span<const uint8_t> payload);
  void names_changed(const std::string& note, bool changed);
  void symbolize(ExecutionRecord* record, StackLines lines);

  const HubOptions options_;
  std::string socket_path_;
  ControlPages pages_;
  std::unique_ptr<Lane> lane_;
  UniqueFd epoll_, listener_, wake_;
  Symbolizer symbolizer_;  // has its own lock

  mutable std::mutex mutex_;  // all below, and lane_ but for the lease
  std::condition_variable changed_;
  std::map<uint32_t, Agent> agents_;
  std::deque<AgentRecord> ended_;
  uint32_t next_agent_ = 1;
  bool accepting_ = true;
  TargetTable targets_;
  bool names_frozen_ = false;
  Recorder recorder_;
  std::optional<Finisher> finisher_;
  std::optional<Relays> relays_;
  uint32_t last_execution_ = 0;
  milliseconds hang_limit_;
  bool stopping_ = false;

  std::thread thread_;
};

Result<void> Hub::open() {
  std::string note;
  const std::string user_directory =
      options_.user_directory.empty() ? kUserControlDirPrefix + std::to_string(::geteuid())
                                      : options_.user_directory;
  if (auto opened = pages_.open(options_.directory, user_directory, &note); !opened) return opened;
  if (!note.empty()) recorder_.note(note);

  socket_path_ = options_.directory + "/agent.sock";
  Result<UniqueFd> listener = listen_at(socket_path_);
  if (!listener) return listener.error();
  listener_ = std::move(listener).value();
  Result<std::unique_ptr<Lane>> lane = Lane::create(options_);
  if (!lane) return lane.error();
  lane_ = std::move(lane).value();

  epoll_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  wake_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!epoll_.valid() || !wake_.valid()) return system_error("epoll");
  if (!watch(listener_.get(), kTagListen, EPOLLIN) || !watch(wake_.get(), kTagWake, EPOLLIN)) {
    return system_error("epoll_ctl");
  }
  finisher_.emplace(epoll_.get(), kTagFinisher,
                    [this](uint32_t execution, uint64_t rpc, const std::string& text) {
                      report(execution, rpc, text);
                    });
  relays_.emplace(epoll_.get(), kTagRelay, static_cast<RelayHost*>(this));

  // Signals of the daemon are for its main thread.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_setname_np(thread_.native_handle(), "agents");

  pages_.publish(socket_path_);
  return {};
}

Hub::~Hub() {
  pages_.retract();  // first: nobody begins to register any more
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      lane_->end();
    }
    ::eventfd_write(wake_.get(), 1);
    thread_.join();
  }
  if (listener_.valid()) ::unlink(socket_path_.c_str());
}

bool Hub::watch(int fd, uint64_t data, uint32_t events, int operation) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = data;
  return ::epoll_ctl(epoll_.get(), operation, fd, &event) == 0;
}

int Hub::turn_ms() const {
  int turn = recorder_.running() ? kDrainMs : kIdleMs;
  for (const uint64_t deadline : {finisher_->next_deadline_ns(), relays_->next_deadline_ns()}) {
    if (deadline == 0) continue;
    const uint64_t now = clock_ns();
    const uint64_t left_ms = deadline > now ? (deadline - now) / 1'000'000 + 1 : 0;
    turn = static_cast<int>(std::min<uint64_t>(static_cast<uint64_t>(turn), left_ms));
  }
  return turn;
}

void Hub::run() {
  int timeout = kIdleMs;
  for (;;) {
    epoll_event events[64];
    const int count = ::epoll_wait(epoll_.get(), events, 64, timeout);
    // Without the lock: a caller that holds it long must not let a fault expire.
    lane_->renew_lease(clock_ns());
    const std::lock_guard lock(mutex_);
    if (stopping_) {
      retire_relays();
      return;
    }
    for (int i = 0; i < count; ++i) handle(events[i].data.u64, events[i].events);
    drain_all();
    finisher_->expire(clock_ns());
    relays_->expire(clock_ns());
    if (!accepting_) accepting_ = watch(listener_.get(), kTagListen, EPOLLIN, EPOLL_CTL_MOD);
    timeout = turn_ms();
    changed_.notify_all();
  }
}

// The last act: their streams end, or run out of time.
void Hub::retire_relays() {
  uint64_t now = clock_ns();
  const uint64_t limit = now + kRetirementNs;
  for (;;) {
    relays_->retire(now);  // also those that were handed off meanwhile
    if (relays_->size() == 0 || now >= limit) return;
    epoll_event events[64];
    const int count = ::epoll_wait(epoll_.get(), events, 64, kIdleMs);
    for (int i = 0; i < count; ++i) handle(events[i].data.u64, events[i].events);
    now = clock_ns();
    relays_->expire(now);
  }
}

void Hub::handle(uint64_t data, uint32_t events) {
  switch (data & kTagMask) {
    case kTagListen:
      accept_agents();
      break;
    case kTagWake: {
      eventfd_t ignored;
      ::eventfd_read(wake_.get(), &ignored);
      break;
    }
    case kTagAgent:
      read_agent(static_cast<uint32_t>(data));
      break;
    case kTagFinisher:
      finisher_->ready(data & ~kTagMask, events);
      break;
    case kTagRelay:
      relays_->ready(data & ~kTagMask, clock_ns());
      break;
    default:
      break;
  }
}

void Hub::accept_agents() {
  for (int i = 0; i < kMessagesPerTurn; ++i) {
    UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid()) {
      if (errno == EMFILE || errno == ENFILE) {
        // Asking again at once would spin: the next turn does.
        recorder_.note("no descriptor left for a new agent; raise the limit (ulimit -n)");
        accepting_ = !watch(listener_.get(), kTagListen, 0, EPOLL_CTL_MOD);
      }
      return;
    }
    Peer peer;
    if (!peer_of(socket.get(), &peer) || peer.uid != ::geteuid()) continue;
    if (agents_.size() >= kMaxAgents) {
      recorder_.note("more than " + std::to_string(kMaxAgents) + " processes: pid " +
                     std::to_string(peer.pid) + " is not interposed");
      continue;
    }
    const uint32_t id = next_agent_++;
    if (!watch(socket.get(), kTagAgent | id, EPOLLIN | EPOLLRDHUP)) continue;
    Agent& agent = agents_[id];
    agent.socket = std::move(socket);
    agent.record.agent = id;
    agent.record.pid = static_cast<uint32_t>(peer.pid);
  }
}

void Hub::read_agent(uint32_t id) {
  for (int i = 0; i < kMessagesPerTurn; ++i) {
    const auto place = agents_.find(id);
    if (place == agents_.end()) return;
    Agent& agent = place->second;
    Message message = receive_message(agent.socket.get());
    if (message.state == Message::State::kNone) return;
    if (message.state == Message::State::kEnd) {
      end_agent(id);
      return;
    }
    switch (agent.state) {
      case Agent::State::kConnected:
        if (!greet(id, &agent, message)) {
          agents_.erase(place);
          return;
        }
        break;
      case Agent::State::kRegistered:
        if (!take_hand_off(&agent, &message)) drop(&agent, "sent a message that makes no sense");
        break;
      case Agent::State::kDropped:
        break;  // read away, until its end
    }
  }
}

bool Hub::greet(uint32_t id, Agent* agent, const Message& message) {
  const Greeting greeting = read_greeting(message, options_.lane);
  const auto pid = static_cast<pid_t>(agent->record.pid);
  const std::string who = "pid " + std::to_string(pid) + " (" + executable_of(pid) + ")";
  if (!greeting.is_hello) {
    recorder_.note(who + " sent something else than a Hello: not interposed");
    return false;
  }
  Welcome welcome;
  welcome.generation = pages_.generation();
  welcome.refused = static_cast<uint32_t>(greeting.refusal);
  if (greeting.refusal != Refusal::kNone) {
    send_welcome(agent->socket.get(), welcome, -1, -1);
    recorder_.note(greeting.refusal == Refusal::kVersion
                       ? who + " has an agent of protocol " +
                             std::to_string(greeting.hello.major) + "." +
                             std::to_string(greeting.hello.minor) + ", this is " +
                             std::to_string(kProtocolMajor) + "." +
                             std::to_string(kProtocolMinor) +
                             ": not interposed; use the library of this release"
                       : who + " belongs to lane " + std::to_string(greeting.hello.lane) +
                             ", this is lane " + std::to_string(options_.lane) +
                             ": not interposed");
    return false;
  }
  Result<RingReader> ring = RingReader::create();
  if (!ring) {
    recorder_.note(who + " is not interposed: " + ring.error().message);
    return false;
  }
  agent->ring = std::move(ring).value();
  welcome.agent = id;
  if (!send_welcome(agent->socket.get(), welcome, lane_->descriptor(), agent->ring->descriptor())) {
    return false;
  }
  agent->ring->close_descriptor();
  agent->state = Agent::State::kRegistered;
  agent->record.start_time = greeting.hello.start_time;
  agent->record.service = greeting.service;
  agent->record.executable = greeting.executable;
  agent->record.notes = greeting.notes;
  agent->source = {id, agent->record.pid, greeting.service};
  return true;
}

bool Hub::take_hand_off(Agent* agent, Message* message) {
  HandOff hand_off;
  if (!read_hand_off(*message, &hand_off)) return false;
  UniqueFd held = std::move(message->descriptors[0]);
  UniqueFd real;
  if (message->descriptors.size() > 1) real = std::move(message->descriptors[1]);
  if (hand_off.kind == HandOffKind::kRelay) {
    RelayState state;
    std::string_view table;
    if (!read_relay_state(*message, &state, &table)) {
      close_with_reset(std::move(held));
      return false;
    }
    relays_->take(state, table, std::move(held), std::move(real));
    return true;
  }
  if (hand_off.execution != recorder_.execution()) {
    close_with_reset(std::move(held));  // of an execution that is over
    return true;
  }
  std::string answer;
  if (hand_off.kind == HandOffKind::kDrainThenAnswer) {
    const FaultSpec* fault = recorder_.planned_fault(hand_off.plan_entry);
    if (fault == nullptr || fault->kind != FaultKind::kStatus) {
      close_with_reset(std::move(held));
      recorder_.note(agent->source.name() + ": handed off a fault that has no answer in the plan");
      recorder_.lost(1);
      return true;
    }
    answer = render_http_response(*fault, hand_off.head_request != 0);
  }
  finisher_->take(hand_off, std::move(held), std::move(real), std::move(answer), hang_limit_ns(),
                  clock_ns());
  return true;
}

const FaultSpec* Hub::fault_of(const StreamOrder& order) {
  if (order.execution != recorder_.execution()) return nullptr;  // of an execution that is over
  const FaultSpec* fault = recorder_.planned_fault(order.plan_entry);
  if (fault == nullptr) note("a fault was ordered on an HTTP/2 stream that is not in the plan", true);
  return fault;
}

uint64_t Hub::hang_limit_ns() const {
  return static_cast<uint64_t>(std::chrono::nanoseconds(hang_limit_).count());
}

void Hub::report(uint32_t execution, uint64_t rpc, const std::string& text) {
  recorder_.fault_detail(execution, rpc, text);
}

void Hub::unmet(const StreamOrder& order, const std::string& why) {
  recorder_.unmet(order.execution, order.rpc, order.plan_entry, why);
}

void Hub::note(const std::string& text, bool harmed) {
  recorder_.note(text);
  if (harmed) recorder_.lost(1);
}

void Hub::drop(Agent* agent, const std::string& why) {
  if (agent->state == Agent::State::kDropped) return;
  agent->state = Agent::State::kDropped;
  recorder_.note(agent->source.name() + ": its agent " + why +
                 "; not read any more, its executions are incomplete");
  recorder_.lost(1);
  recorder_.agent_ended(agent->source, clock_ns());
}

void Hub::end_agent(uint32_t id) {
  const auto place = agents_.find(id);
  Agent& agent = place->second;
  if (agent.state == Agent::State::kRegistered) {
    // All that it published is read; what it was writing when it died is lost.
    Drained last;
    do {
      last = drain(&agent);
    } while (last.events > 0 && agent.state == Agent::State::kRegistered);
    if (last.pending) {
      recorder_.note(agent.source.name() + ": process ended while it wrote an event");
      recorder_.lost(1);
    }
    recorder_.agent_ended(agent.source, clock_ns());
  }
  targets_.agent_ended(id);
  if (agent.state != Agent::State::kConnected) {
    agent.record.alive = false;
    ended_.push_back(std::move(agent.record));
    if (ended_.size() > kMaxEnded) ended_.pop_front();
  }
  agents_.erase(place);
}

Hub::Drained Hub::drain(Agent* agent) {
  Drained out;
  bool sound = true;
  const RingReader::State state = agent->ring->drain(
      [&](const EventHead& head, std::span<const uint8_t> payload) {
        if (head.type == static_cast<uint16_t>(EventType::kListen)) on_listen(*agent, payload);
        sound = recorder_.event(agent->source, head, payload) && sound;
      },
      &out.events);
  recorder_.lost(agent->ring->take_dropped());
  out.pending = state == RingReader::State::kPending;
  if (state == RingReader::State::kCorrupt) {
    drop(agent, "has a ring that makes no sense");
  } else if (!sound) {
    drop(agent, "sent an event that makes no sense");
  }
  return out;
}

Hub::Drained Hub::drain_all() {
  Drained out;
  for (auto& [id, agent] : agents_) {
    if (agent.state != Agent::State::kRegistered) continue;
    const Drained one = drain(&agent);
    out.events += one.events;
    out.pending = out.pending || one.pending;
  }
  return out;
}

void Hub::on_listen(const Agent& agent, std::span<const uint8_t> payload) {
  Listen listen;
  if (!decode(payload.data(), payload.size(), &listen)) {
    recorder_.note(agent.source.name() + ": a listening socket could not be understood");
    return;
  }
  std::string note;
  const std::string service =
      listen.service.empty() ? agent.source.service : printable(listen.service);
  const bool changed = targets_.report(listen, agent.source.agent, service, &note);
  names_changed(note, changed);
}

void Hub::names_changed(const std::string& note, bool changed) {
  if (!note.empty()) recorder_.note(note);
  if (!changed) return;
  lane_->write_targets(targets_.rows());
  // In the first reference execution too: services started by hand join at their first request.
  if (names_frozen_ || recorder_.running()) recorder_.names_changed();
}

void Hub::add_targets(const std::vector<TargetRow>& rows) {
  const std::lock_guard lock(mutex_);
  for (const TargetRow& row : rows) {
    std::string note;
    const bool changed = targets_.configure(row, &note);
    names_changed(note, changed);
  }
}

void Hub::freeze_names() {
  const std::lock_guard lock(mutex_);
  drain_all();  // what was reported until now is part of the frozen table
  names_frozen_ = true;
}

void Hub::set_masks(const MaskTable& masks) {
  const std::lock_guard lock(mutex_);
  lane_->write_masks(masks);
  recorder_.forget_rpcs();
}

void Hub::report_fields(bool wanted) {
  const std::lock_guard lock(mutex_);
  lane_->report_fields(wanted);
}

Result<void> Hub::begin_execution(uint32_t execution, const std::vector<PlannedRpcFault>& plan) {
  const std::lock_guard lock(mutex_);
  if (recorder_.running()) {
    return Error{"execution " + std::to_string(recorder_.execution()) + " is still running"};
  }
  if (execution <= last_execution_) {
    return Error{"execution " + std::to_string(execution) + " does not come after " +
                 std::to_string(last_execution_)};
  }
  drain_all();  // what belongs to an older execution is late, not of this one
  RpcMemory::Plan expanded = recorder_.expand(plan);
  if (auto written = lane_->write_plan(expanded.rows); !written) return written;
  last_execution_ = execution;
  recorder_.begin(execution, plan, std::move(expanded), clock_ns());
  for (const auto& [id, agent] : agents_) {
    if (agent.state != Agent::State::kDropped) continue;
    recorder_.note(agent.source.name() + ": its agent is not read any more");
    recorder_.lost(1);
  }
  lane_->begin(execution);
  ::eventfd_write(wake_.get(), 1);  // from now on in short turns
  return {};
}

bool Hub::wait_quiescent(milliseconds timeout) {
  const auto deadline = steady_clock::now() + timeout;
  std::unique_lock lock(mutex_);
  int calm = 0;
  for (;;) {
    if (!recorder_.running()) return true;
    const Drained drained = drain_all();
    const bool quiet = drained.events == 0 && !drained.pending && recorder_.quiet();
    calm = quiet ? calm + 1 : 0;
    if (calm >= 2) return true;
    if (quiet) continue;  // look again at once
    if (steady_clock::now() >= deadline) return false;
    if (drained.events == 0) {
      changed_.wait_for(lock, kQuiescenceStep);
    } else {
      // More may come at once; the hub's thread gets its turn.
      lock.unlock();
      std::this_thread::yield();
      lock.lock();
    }
  }
}

ExecutionRecord Hub::end_execution() {
  ExecutionRecord record;
  {
    const std::lock_guard lock(mutex_);
    lane_->end();
    const bool running = recorder_.running();
    const Drained last = drain_all();
    if (running) {
      finisher_->reset_all(recorder_.execution());
      relays_->end_execution(recorder_.execution());
    }
    recorder_.lost(lane_->counters_lost());
    record = recorder_.end(clock_ns());
    record.damaged_fields = lane_->damaged_fields();
    record.quiescent = record.quiescent && !last.pending;
  }
  symbolize(&record, StackLines::kOfAll);
  return record;
}

ExecutionRecord Hub::snapshot(StackLines lines) {
  ExecutionRecord record;
  {
    const std::lock_guard lock(mutex_);
    drain_all();
    record = recorder_.snapshot();
  }
  symbolize(&record, lines);
  return record;
}

void Hub::symbolize(ExecutionRecord* record, StackLines lines) {
  for (RpcRecord& rpc : record->rpcs) {
    if (rpc.injected || lines == StackLines::kOfAll) symbolizer_.lines(&rpc.stack_text);
  }
}

std::vector<AgentRecord> Hub::agents() const {
  const std::lock_guard lock(mutex_);
  std::vector<AgentRecord> out(ended_.begin(), ended_.end());
  for (const auto& [id, agent] : agents_) {
    if (agent.state != Agent::State::kConnected) out.push_back(agent.record);
  }
  return out;
}

bool Hub::has_agent(uint32_t pid) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(agents_.begin(), agents_.end(), [pid](const auto& row) {
    return row.second.state == Agent::State::kRegistered && row.second.record.pid == pid;
  });
}

void Hub::set_hang_limit(milliseconds limit) {
  const std::lock_guard lock(mutex_);
  hang_limit_ = limit;
}

}  // namespace

Result<std::unique_ptr<AgentHub>> AgentHub::start(const HubOptions& options) {
  auto hub = std::make_unique<Hub>(options);
  if (auto opened = hub->open(); !opened) return opened.error();
  return Result<std::unique_ptr<AgentHub>>(std::move(hub));
}

}  // namespace filibuster
