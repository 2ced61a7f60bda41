#include "daemon/agents/agent_hub.h"

#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "daemon/agents/connected_agents.h"
#include "daemon/agents/control_pages.h"
#include "daemon/agents/door.h"
#include "daemon/agents/hand_offs.h"
#include "daemon/agents/lane_writer.h"
#include "daemon/agents/pulse.h"
#include "daemon/agents/recorder.h"
#include "daemon/agents/registration.h"
#include "daemon/agents/symbolize.h"
#include "daemon/agents/target_table.h"

namespace filibuster {
namespace {

using std::chrono::milliseconds;

// The upper byte of epoll data says which part of the hub watches the descriptor; the lower 56 bits
// are a number of that part.
constexpr uint64_t kTagWake = 1ull << 56;
constexpr uint64_t kTagAgents = 2ull << 56;
constexpr uint64_t kTagFinisher = 3ull << 56;
constexpr uint64_t kTagRelay = 4ull << 56;
constexpr uint64_t kTagMask = 0xffull << 56;

// Rings hold about 3,000 events; an agent that writes one every microsecond is read in time.
constexpr int kDrainMs = 2;
// After this many turns in which nothing was reported, as while a test starts, turns are longer: the rings are empty then, and
// hold what an agent writes in this time, too, if it writes an event every two microseconds.
constexpr int kCalmTurns = 20, kCalmMs = 5;
constexpr int kIdleMs = 50;  // between executions: names are still reported then
constexpr uint64_t kSettledNs =
    100'000'000;  // of an RPC: how long after its end all is known of it
constexpr auto kQuiescenceStep = std::chrono::microseconds(500);
// How long the streams of relayed connections may take to end when the session does.
constexpr uint64_t kRetirementNs = 3'000'000'000;

class Hub final : public AgentHub, ConnectedAgents::Host, Recordings {
 public:
  explicit Hub(const HubOptions& options) : options_(options), recorder_(options.index_parts) {}
  ~Hub() override;
  Result<void> open();

  std::string address() const override { return "unix:" + socket_path_; }
  void add_targets(const std::vector<TargetRow>& rows) override;
  void set_hosts(const std::vector<HostAddress>& rows) override;
  void freeze_names() override;
  void set_masks(const MaskTable& masks) override;
  std::shared_ptr<const RpcMemory> known_rpcs() const override;
  void recall_rpcs(const RpcMemory& memory) override;
  void report_fields(bool wanted) override;
  Result<void> begin_execution(uint32_t execution,
                               const std::vector<PlannedRpcFault>& plan) override;
  void arm(size_t number, uint32_t calls) override;
  bool is_waiting(size_t number) const override;
  bool is_held(size_t number) const override;
  void release(size_t number) override;
  bool wait_quiescent(milliseconds timeout) override;
  ExecutionRecord end_execution() override;
  ExecutionRecord next_execution(uint32_t next) override;
  ExecutionRecord snapshot(StackLines lines) override;
  ExecutionRecord take_ended() override;
  void show_time(int64_t now_us) override { pages_.show_time(now_us); }
  void show_draws(std::span<const ShownDraw> draws) override { lane_->show_draws(draws); }
  Recordings& recordings() override { return *this; }
  std::vector<OtherSession> others() const override { return pages_.others(); }
  std::vector<AgentRecord> agents() const override;
  bool has_agent(uint32_t pid) const override;
  void set_hang_limit(milliseconds limit) override;
  std::chrono::nanoseconds patient_now() const override {
    return std::chrono::nanoseconds(pulse_.patient_ns());
  }

 private:
  Result<void> start(std::shared_ptr<RecordingSink> sink, What what) override;
  void stop() override;
  void look() override;

  void run();
  ExecutionRecord end_record(const ConnectedAgents::Drained& last,
                             const std::function<void()>& leave);
  void retire_relays();
  int turn_ms(int calm_turns) const;
  void handle(uint64_t data, uint32_t events);
  void listens(const EventSource& agent, const Listen& listen) override;
  void waits_without_limit(uint64_t rpc) override;
  bool take_hand_off(const EventSource& agent, Message* message) override;
  void agent_ended(uint32_t agent) override;
  void names_changed(const std::string& note, bool changed, uint16_t port,
                     const std::string& service);
  void symbolize(ExecutionRecord* record, StackLines lines);

  const HubOptions options_;
  std::string socket_path_;
  ControlPages pages_;
  Door door_;
  std::unique_ptr<LaneWriter> lane_;
  UniqueFd epoll_, listener_, wake_;
  Symbolizer symbolizer_;  // has its own lock
  Tapes tapes_;            // has its own locks, which are taken after `mutex_`
  std::mutex recording_;   // of whoever begins or ends a recording; taken before `mutex_`
  uint32_t recordings_ = 0;

  mutable std::mutex mutex_;  // guards the members below, and lane_ but for its lease
  std::condition_variable changed_;
  TargetTable targets_;
  bool names_frozen_ = false;
  Recorder recorder_;
  std::optional<ConnectedAgents> agents_;
  std::optional<HandOffs> hand_offs_;
  uint32_t last_execution_ = 0;
  bool stopping_ = false;

  std::thread thread_;
  Pulse pulse_;  // the last member: ends before lane_, whose lease it renews
};

Result<void> Hub::open() {
  std::string note;
  const std::string user_directory = options_.user_directory.empty()
                                         ? kUserControlDirPrefix + std::to_string(::geteuid())
                                         : options_.user_directory;
  if (auto opened = pages_.open({.directory = options_.directory,
                                 .user_directory = user_directory,
                                 .application = options_.application},
                                &note);
      !opened) {
    return opened;
  }
  if (!note.empty()) recorder_.note(note);

  socket_path_ = options_.directory + "/agent.sock";
  Result<UniqueFd> listener = listen_at(socket_path_);
  if (!listener) return listener.error();
  listener_ = std::move(listener).value();
  Result<Door> door = Door::open();
  if (door) {
    door_ = std::move(door).value();
  } else {
    recorder_.note("processes that change their user after their start cannot join: " +
                   door.error().message);
  }
  Result<std::unique_ptr<LaneWriter>> lane = LaneWriter::create(options_);
  if (!lane) return lane.error();
  lane_ = std::move(lane).value();

  epoll_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  wake_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!epoll_.valid() || !wake_.valid()) return system_error("epoll");
  agents_.emplace(ConnectedAgents::Surroundings{.epoll_fd = epoll_.get(),
                                                .tag = kTagAgents,
                                                .listener = listener_.get(),
                                                .door = &door_,
                                                .lane_number = options_.lane,
                                                .lane = lane_.get(),
                                                .pages = &pages_,
                                                .application = &options_.application,
                                                .services = &options_.services,
                                                .recorder = &recorder_,
                                                .tapes = &tapes_,
                                                .host = this});
  epoll_event wake{};
  wake.events = EPOLLIN;
  wake.data.u64 = kTagWake;
  if (!agents_->start() || ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &wake) != 0) {
    return system_error("epoll_ctl");
  }
  hand_offs_.emplace(epoll_.get(), kTagFinisher, kTagRelay, &recorder_, options_.hang_limit,
                     [this] { return pulse_.slowdown(); });

  // The main thread handles the daemon's signals: threads that start here block them all.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pulse_.start([this](uint64_t now_ns) { lane_->renew_lease(now_ns); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_setname_np(thread_.native_handle(), "agents");

  note.clear();
  pages_.publish(socket_path_, door_, &note);
  const std::lock_guard lock(mutex_);
  if (!note.empty()) recorder_.note(note);
  return {};
}

Hub::~Hub() {
  pages_.retract();  // first, so that no agent begins to register any more
  if (agents_) stop();
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

int Hub::turn_ms(int calm_turns) const {
  const int turn = !recorder_.running() ? kIdleMs : calm_turns < kCalmTurns ? kDrainMs : kCalmMs;
  const uint64_t deadline = hand_offs_->next_deadline_ns();
  if (deadline == 0) return turn;
  const uint64_t now = clock_ns();
  const uint64_t left_ms = deadline > now ? (deadline - now) / 1'000'000 + 1 : 0;
  return static_cast<int>(std::min<uint64_t>(static_cast<uint64_t>(turn), left_ms));
}

void Hub::run() {
  int timeout = kIdleMs, calm_turns = 0;
  for (;;) {
    epoll_event events[64];
    const int count = ::epoll_wait(epoll_.get(), events, 64, timeout);
    const std::lock_guard lock(mutex_);
    if (stopping_) {
      retire_relays();
      return;
    }
    for (int i = 0; i < count; ++i) handle(events[i].data.u64, events[i].events);
    const bool calm = agents_->drain().events == 0 && count == 0;
    calm_turns = calm ? std::min(calm_turns + 1, kCalmTurns) : 0;
    hand_offs_->expire(clock_ns());
    agents_->resume_accepting();
    timeout = turn_ms(calm_turns);
    changed_.notify_all();
  }
}

// Runs when the hub stops: waits until the streams of relayed connections have ended, or time is up.
void Hub::retire_relays() {
  uint64_t now = clock_ns();
  const uint64_t limit = now + kRetirementNs;
  for (;;) {
    // Retires those that were handed off meanwhile, too.
    const size_t left = hand_offs_->retire(now);
    if (left == 0 || now >= limit) return;
    epoll_event events[64];
    const int count = ::epoll_wait(epoll_.get(), events, 64, kIdleMs);
    for (int i = 0; i < count; ++i) handle(events[i].data.u64, events[i].events);
    now = clock_ns();
    hand_offs_->expire_relays(now);
  }
}

void Hub::handle(uint64_t data, uint32_t events) {
  switch (data & kTagMask) {
    case kTagWake: {
      eventfd_t ignored;
      ::eventfd_read(wake_.get(), &ignored);
      break;
    }
    case kTagAgents:
      agents_->ready(data & ~kTagMask);
      break;
    case kTagFinisher:
      hand_offs_->finisher_ready(data & ~kTagMask, events, clock_ns());
      break;
    case kTagRelay:
      hand_offs_->relay_ready(data & ~kTagMask, clock_ns());
      break;
    default:
      break;
  }
}

bool Hub::take_hand_off(const EventSource& agent, Message* message) {
  return hand_offs_->take(agent, message, clock_ns());
}

void Hub::waits_without_limit(uint64_t rpc) {
  hand_offs_->waits_without_limit(rpc);
}

void Hub::agent_ended(uint32_t agent) {
  targets_.agent_ended(agent);
}

void Hub::listens(const EventSource& agent, const Listen& listen) {
  std::string note;
  const std::string service = listen.service.empty() ? agent.service : printable(listen.service);
  const bool changed = targets_.report(listen, agent.agent, service, &note);
  const bool is_unix = static_cast<TargetKind>(listen.kind) == TargetKind::kUnix;
  names_changed(note, changed, is_unix ? 0 : listen.port, service);
}

void Hub::names_changed(const std::string& note, bool changed, uint16_t port,
                        const std::string& service) {
  if (!note.empty()) recorder_.note(note);
  if (!changed) return;
  lane_->write_targets(targets_.rows());
  // This holds for the first reference execution, too: services started by hand join at their first
  // request.
  if (names_frozen_ || recorder_.running()) recorder_.name_found(port, service);
}

void Hub::set_hosts(const std::vector<HostAddress>& rows) {
  const std::lock_guard lock(mutex_);
  lane_->write_hosts(rows);
}

void Hub::add_targets(const std::vector<TargetRow>& rows) {
  const std::lock_guard lock(mutex_);
  for (const TargetRow& row : rows) {
    std::string note;
    const bool changed = targets_.configure(row, &note);
    names_changed(note, changed, row.unix_path.empty() ? row.port : 0, row.service);
  }
}

void Hub::freeze_names() {
  const std::lock_guard lock(mutex_);
  agents_->drain();  // what was reported until now is part of the frozen table
  names_frozen_ = true;
}

void Hub::set_masks(const MaskTable& masks) {
  const std::lock_guard lock(mutex_);
  lane_->write_masks(masks);
  recorder_.forget_rpcs();
}

std::shared_ptr<const RpcMemory> Hub::known_rpcs() const {
  const std::lock_guard lock(mutex_);
  return std::make_shared<const RpcMemory>(recorder_.known_rpcs());
}

void Hub::recall_rpcs(const RpcMemory& memory) {
  const std::lock_guard lock(mutex_);
  recorder_.recall_rpcs(memory);
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
  agents_->drain();  // what the rings hold by now belongs to older executions
  RpcMemory::Plan expanded = recorder_.expand(plan);
  if (auto written = lane_->write_plan(expanded.rows); !written) return written;
  last_execution_ = execution;
  recorder_.begin(execution, plan, std::move(expanded), clock_ns());
  agents_->note_dropped();
  lane_->begin(execution);
  ::eventfd_write(wake_.get(), 1);  // the hub's thread goes over to short turns
  return {};
}

void Hub::arm(size_t number, uint32_t calls) {
  const std::lock_guard lock(mutex_);
  if (!recorder_.running()) return;
  if (const uint32_t arm = recorder_.arm_of(number); arm != 0) {
    recorder_.note_armed(number);
    lane_->arm(arm, recorder_.execution(), calls);
  }
}

bool Hub::is_waiting(size_t number) const {
  const std::lock_guard lock(mutex_);
  if (!recorder_.running()) return false;
  const uint32_t arm = recorder_.arm_of(number);
  return arm != 0 && lane_->is_waiting(arm, recorder_.execution());
}

bool Hub::is_held(size_t number) const {
  const std::lock_guard lock(mutex_);
  return recorder_.running() && hand_offs_->is_held(static_cast<uint32_t>(number));
}

void Hub::release(size_t number) {
  const std::lock_guard lock(mutex_);
  if (recorder_.running()) hand_offs_->release(static_cast<uint32_t>(number), clock_ns());
}

bool Hub::wait_quiescent(milliseconds timeout) {
  const auto began = patient_now();
  std::unique_lock lock(mutex_);
  int calm = 0;
  for (;;) {
    if (!recorder_.running()) return true;
    const ConnectedAgents::Drained drained = agents_->drain();
    const bool quiet = drained.events == 0 && !drained.pending && recorder_.quiet();
    calm = quiet ? calm + 1 : 0;
    if (calm >= 2) return true;
    if (quiet) continue;  // look again at once
    if (patient_now() - began >= timeout) return false;
    if (drained.events == 0) {
      changed_.wait_for(lock, kQuiescenceStep);
    } else {
      // More events may come at once: the hub's thread gets its turn.
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
    record = end_record(agents_->drain(), [] {});
  }
  symbolize(&record, StackLines::kOfAll);
  return record;
}

// The record of a busy server takes long to make. Meanwhile what is reported of the next execution waits in the rings.
ExecutionRecord Hub::next_execution(uint32_t next) {
  ExecutionRecord record;
  {
    const std::lock_guard lock(mutex_);
    if (!recorder_.running()) return record;
    record = end_record(agents_->drain(), [&] { lane_->begin(next); });
    last_execution_ = next;
    recorder_.begin(next, {}, recorder_.expand({}), clock_ns());
    agents_->note_dropped();
  }
  symbolize(&record, StackLines::kOfAll);
  return record;
}

// `last`: what was drained last. `leave` is called when all is known but the record itself.
ExecutionRecord Hub::end_record(const ConnectedAgents::Drained& last,
                                const std::function<void()>& leave) {
  if (recorder_.running()) hand_offs_->end_execution(recorder_.execution());
  recorder_.lost_by_agents(lane_->times_lost(), lane_->first_lost_by());
  const uint32_t damaged = lane_->damaged_fields();
  leave();
  ExecutionRecord record = recorder_.end(clock_ns());
  record.damaged_fields = damaged;
  record.quiescent = record.quiescent && !last.pending;
  return record;
}

ExecutionRecord Hub::snapshot(StackLines lines) {
  ExecutionRecord record;
  {
    const std::lock_guard lock(mutex_);
    agents_->drain();
    record = recorder_.snapshot();
  }
  symbolize(&record, lines);
  return record;
}

// Who has received an RPC reports that before its end. What a busy agent reports may come a moment later than it was, so that
// an RPC is not taken when it has just ended, nor when a ring could not be read to its end.
ExecutionRecord Hub::take_ended() {
  ExecutionRecord record;
  {
    const std::lock_guard lock(mutex_);
    const uint64_t before = clock_ns() - kSettledNs;
    record = recorder_.take_ended(agents_->drain().pending ? 0 : before);
  }
  symbolize(&record, StackLines::kOfAll);
  return record;
}

void Hub::symbolize(ExecutionRecord* record, StackLines lines) {
  for (RpcRecord& rpc : record->rpcs) {
    if (rpc.injected || lines == StackLines::kOfAll) symbolizer_.lines(&rpc.stack_text);
  }
}

Result<void> Hub::start(std::shared_ptr<RecordingSink> sink, What what) {
  const std::lock_guard recording(recording_);
  const std::lock_guard lock(mutex_);
  if (tapes_.running()) return Error{"a recording runs already"};
  agents_->drain();  // what the rings hold by now was not recorded
  if (auto begun = tapes_.begin(std::move(sink), ++recordings_); !begun) return begun;
  const uint32_t parts =
      kRecordPlaces | (what == What::kPlacesAndBytes ? uint32_t{kRecordBytes} : 0);
  lane_->record(recordings_ << kRecordingShift | parts);
  return {};
}

void Hub::stop() {
  const std::lock_guard recording(recording_);
  if (!tapes_.running()) return;
  {
    const std::lock_guard lock(mutex_);
    lane_->record(0);
    agents_->drain();
  }
  tapes_.end();
}

void Hub::look() {
  {
    const std::lock_guard lock(mutex_);
    agents_->drain();
  }
  tapes_.turn();
}

std::vector<AgentRecord> Hub::agents() const {
  const std::lock_guard lock(mutex_);
  return agents_->records();
}

bool Hub::has_agent(uint32_t pid) const {
  const std::lock_guard lock(mutex_);
  return agents_->has_registered(pid);
}

void Hub::set_hang_limit(milliseconds limit) {
  const std::lock_guard lock(mutex_);
  hand_offs_->set_hang_limit(limit);
}

}  // namespace

Result<std::unique_ptr<AgentHub>> AgentHub::start(const HubOptions& options) {
  auto hub = std::make_unique<Hub>(options);
  if (auto opened = hub->open(); !opened) return opened.error();
  return Result<std::unique_ptr<AgentHub>>(std::move(hub));
}

}  // namespace filibuster
