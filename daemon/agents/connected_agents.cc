#include "daemon/agents/connected_agents.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "daemon/base/fail_point.h"
#include "daemon/base/own_files.h"
#include "daemon/base/process_table.h"
#include "daemon/model/caller.h"

namespace filibuster {
namespace {

constexpr size_t kMaxAgents = 4096;
constexpr size_t kMaxEnded = 256;  // ended agents that are remembered for the report
constexpr int kMessagesPerTurn = 64;
constexpr uint64_t kListener = 0;  // number of the listener; agents have numbers from 1
constexpr uint64_t kDoor = 1ull << 32;
// Of processes that wait at the door and have not shown the token: others cannot use up our descriptors. Whoever
// has the token shows it as soon as it is connected.
constexpr size_t kMaxAtDoor = 64;

std::string executable_of(pid_t pid) {
  char path[PATH_MAX];
  const ssize_t size =
      ::readlink(("/proc/" + std::to_string(pid) + "/exe").c_str(), path, sizeof path);
  return size > 0 ? printable({path, static_cast<size_t>(size)}) : "unknown program";
}

}  // namespace

bool ConnectedAgents::start() {
  return watch(hub_.listener, kListener, EPOLLIN, EPOLL_CTL_ADD) &&
         (hub_.door->number() == 0 || watch(hub_.door->listener(), kDoor, EPOLLIN, EPOLL_CTL_ADD));
}

bool ConnectedAgents::watch(int fd, uint64_t number, uint32_t events, int operation) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = hub_.tag | number;
  return ::epoll_ctl(hub_.epoll_fd, operation, fd, &event) == 0;
}

void ConnectedAgents::ready(uint64_t number) {
  if (number == kListener || number == kDoor) {
    accept(number);
  } else {
    read(static_cast<uint32_t>(number));
  }
}

void ConnectedAgents::resume_accepting() {
  if (!accepting_) accepting_ = watch_listeners(EPOLLIN);
}

bool ConnectedAgents::watch_listeners(uint32_t events) {
  const bool door =
      hub_.door->number() == 0 || watch(hub_.door->listener(), kDoor, events, EPOLL_CTL_MOD);
  return watch(hub_.listener, kListener, events, EPOLL_CTL_MOD) && door;
}

void ConnectedAgents::make_room_at_door() {
  const auto waits = [](const auto& row) {
    return row.second.at_door && row.second.state == Agent::State::kConnected;
  };
  if (static_cast<size_t>(std::count_if(agents_.begin(), agents_.end(), waits)) < kMaxAtDoor)
    return;
  const uint32_t oldest = std::find_if(agents_.begin(), agents_.end(), waits)->first;
  read(oldest);  // it may have shown the token meanwhile
  const auto place = agents_.find(oldest);
  if (place != agents_.end() && waits(*place)) agents_.erase(place);
}

void ConnectedAgents::accept(uint64_t number) {
  const bool at_door = number == kDoor;
  const int listener = at_door ? hub_.door->listener() : hub_.listener;
  for (int i = 0; i < kMessagesPerTurn; ++i) {
    UniqueFd socket(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid()) {
      if (errno == EMFILE || errno == ENFILE) {
        // Trying again at once would spin: the hub's next turn tries again.
        hub_.recorder->note("no descriptor left for a new agent; raise the limit (ulimit -n)");
        accepting_ = !watch_listeners(0);
      }
      return;
    }
    Peer peer;
    if (!peer_of(socket.get(), &peer) || (!at_door && peer.uid != ::geteuid())) continue;
    if (at_door) make_room_at_door();
    if (agents_.size() >= kMaxAgents) {
      hub_.recorder->note("more than " + std::to_string(kMaxAgents) + " processes: pid " +
                          std::to_string(peer.pid) + " is not interposed");
      continue;
    }
    const uint32_t id = next_agent_++;
    if (!watch(socket.get(), id, EPOLLIN | EPOLLRDHUP, EPOLL_CTL_ADD)) continue;
    Agent& agent = agents_[id];
    agent.watched = std::move(socket);
    agent.at_door = at_door;
    agent.record.agent = id;
    agent.record.pid = static_cast<uint32_t>(peer.pid);
  }
}

void ConnectedAgents::read(uint32_t id) {
  for (int i = 0; i < kMessagesPerTurn; ++i) {
    const auto place = agents_.find(id);
    if (place == agents_.end()) return;
    Agent& agent = place->second;
    Message message = receive_message(agent.watched.get());
    if (message.state == Message::State::kNone) return;
    if (message.state == Message::State::kEnd) {
      end(id);
      return;
    }
    switch (agent.state) {
      case Agent::State::kConnected:
        if (!greet(id, &agent, message)) {
          agents_.erase(place);
          return;
        }
        if (agent.state == Agent::State::kDropped) return;
        break;
      case Agent::State::kRegistered:
        if (is_given_up(message)) {
          if (!goes_on_unheard(id, &agent, "could not use its registration")) end(id);
          return;
        }
        if (!hub_.host->take_hand_off(agent.source, &message)) {
          drop(&agent, "sent a malformed message");
        }
        break;
      case Agent::State::kDropped:
        break;  // its messages are thrown away until its socket ends
    }
  }
}

bool ConnectedAgents::greet(uint32_t id, Agent* agent, const Message& message) {
  const Greeting greeting = read_greeting(message, hub_.lane_number);
  const auto pid = static_cast<pid_t>(agent->record.pid);
  const std::string who = "pid " + std::to_string(pid) + " (" + executable_of(pid) + ")";
  if (agent->at_door && !hub_.door->opened_by(greeting.hello.token)) {
    // Said once: whoever has no token could fill the report.
    if (!refused_at_door_) {
      hub_.recorder->note(who + " belongs to another user and did not show this session's token: " +
                          "not interposed");
    }
    refused_at_door_ = true;
    return false;
  }
  if (const auto outside = read_outside(message, hub_.lane_number); outside && !agent->at_door) {
    name_outside(*outside);
    return false;
  }
  if (!greeting.is_hello) {
    hub_.recorder->note(who +
                        " did not introduce itself as an agent of this version: not interposed");
    return false;
  }
  Welcome welcome;
  welcome.generation = hub_.pages->generation();
  welcome.refused = static_cast<uint32_t>(greeting.refusal);
  if (greeting.refusal == Refusal::kNone || greeting.refusal == Refusal::kUndecided) {
    if (const Refusal refusal = why_not_taken(greeting, pid); refusal != Refusal::kNone) {
      // Nothing is said of others: they are none of this session's business.
      if (refusal == Refusal::kAnotherFolder && hub_.services->contains(greeting.service)) {
        hub_.recorder->problem(
            greeting.service + ", " + who + ", was started in another folder than " +
            *hub_.application +
            ", though by the same path (in a container, or with another root directory), so it is "
            "not interposed. Start it with FILIBUSTER_APPLICATION=" +
            *hub_.application + " if it belongs to this session");
      }
      welcome.refused = static_cast<uint32_t>(refusal);
      send_welcome(agent->watched.get(), welcome, {});
      return false;
    }
  }
  if (greeting.refusal == Refusal::kUndecided) {
    hub_.recorder->problem(undecided(who, greeting.service));
    return false;
  }
  if (greeting.refusal != Refusal::kNone) {
    send_welcome(agent->watched.get(), welcome, {});
    hub_.recorder->note(
        greeting.refusal == Refusal::kVersion
            ? who + " has an agent of protocol " + std::to_string(greeting.hello.major) + "." +
                  std::to_string(greeting.hello.minor) + ", this is " +
                  std::to_string(kProtocolMajor) + "." + std::to_string(kProtocolMinor) +
                  ": not interposed; use the library of this release"
            : who + " belongs to lane " + std::to_string(greeting.hello.lane) + ", this is lane " +
                  std::to_string(hub_.lane_number) + ": not interposed");
    return false;
  }
  Result<RingReader> ring = RingReader::create();
  if (!ring) {
    hub_.recorder->note(who + " is not interposed: " + ring.error().message);
    return false;
  }
  Result<TapeReader> tape = TapeReader::create();
  if (!tape) {
    hub_.recorder->note(who + " is not interposed: " + tape.error().message);
    return false;
  }
  agent->ring = std::move(ring).value();
  const auto own_tape = std::make_shared<TapeReader>(std::move(tape).value());
  const EventSource source{id, agent->record.pid, greeting.service,
                           greeting.notes.find(kAttachedNote) != std::string::npos};
  if (auto joined = hub_.tapes->joined(source, own_tape); !joined) {
    hub_.recorder->note(who + " is not interposed: " + joined.error().message);
    return false;
  }
  welcome.agent = id;
  if (!send_welcome(agent->watched.get(), welcome,
                    {hub_.lane->descriptor(), agent->ring->descriptor(), own_tape->descriptor()})) {
    hub_.tapes->ended(id);
    // The agent waits a second, then its process goes on as without us for the rest of the session.
    agent->source = {id, agent->record.pid, executable_of(pid)};
    return goes_on_unheard(id, agent, "gave up waiting for its registration");
  }
  fail_point("registered");
  agent->ring->close_descriptor();
  own_tape->close_descriptor();
  agent->state = Agent::State::kRegistered;
  agent->record.start_time = greeting.hello.start_time;
  agent->record.service = greeting.service;
  agent->record.executable = greeting.executable;
  agent->record.notes = greeting.notes;
  agent->source = source;
  // The process is heard again: its earlier agent makes no execution incomplete any more.
  forget_unheard(agent->record.pid);
  return true;
}

// Programs of these kinds start others, or make no calls, more often than not; so nobody is interrupted by them.
void ConnectedAgents::name_outside(const OutsideProgram& program) {
  const bool is_quiet = program.entry == Entry::kByGlibc || program.entry == Entry::kStatic;
  // The launchers of the tarball (packaging/launcher.c), which a test starts to ask for its faults.
  if (program.program.starts_with(own_directory() + "/filibuster")) return;
  // glibc's own ldconfig is static everywhere, and libraries of Python ask it where others are.
  if (is_quiet && program.program.ends_with("/ldconfig")) return;
  const bool by_test = program.service == kTestService;
  const std::string text =
      (by_test ? "the test" : "service '" + program.service + "'") + " starts " + program.program +
      ", which " + program.obstacle + "; its " +
      (by_test ? "calls are seen only where they arrive"
               : "remote calls are not seen and get no faults. If it is the service itself, "
                 "\"interpose\": \"bpf\" in its row reaches it from outside (docs/attach.md)");
  if (is_quiet) {
    hub_.recorder->note(text);
  } else {
    hub_.recorder->problem(text);
  }
}

Refusal ConnectedAgents::why_not_taken(const Greeting& greeting, pid_t pid) const {
  if (greeting.hello.belonging == Belonging::kStarted) return Refusal::kNone;
  if (greeting.hello.belonging == Belonging::kFolder) {
    struct stat ours {};
    if (::stat(hub_.application->c_str(), &ours) != 0 ||
        ours.st_dev != greeting.hello.folder_device || ours.st_ino != greeting.hello.folder_inode)
      return Refusal::kAnotherFolder;
  }
  const bool listed = hub_.services->empty() || hub_.services->contains(greeting.service);
  return listed || is_descendant(pid) ? Refusal::kNone : Refusal::kNotListed;
}

bool ConnectedAgents::is_descendant(pid_t pid) const {
  constexpr int kMostLevels = 64;
  for (int level = 0; level < kMostLevels && pid > 1; ++level) {
    if (pid == ::getpid() || (level > 0 && has_registered(static_cast<uint32_t>(pid)))) return true;
    const auto stat = process_stat(pid);
    if (!stat) return false;
    pid = stat->parent;
  }
  return false;
}

// What to say of a process that was started by hand and could follow several sessions.
std::string ConnectedAgents::undecided(const std::string& who, const std::string& service) const {
  const std::vector<OtherSession> others = hub_.pages->others();
  return service + ", " + who + ", could follow this session (application " + *hub_.application +
         ") or another one" + (others.empty() ? "" : " (" + to_text(others) + ")") +
         ", so it follows none and is not interposed. Give this session and its services a name of "
         "their own: FILIBUSTER_APPLICATION in the environment of both";
}

bool ConnectedAgents::goes_on_unheard(uint32_t id, Agent* agent, const std::string& why) {
  const auto pid = static_cast<pid_t>(agent->record.pid);
  UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  pollfd ended{process.get(), POLLIN, 0};
  if (!process.valid() || ::poll(&ended, 1, 0) != 0 ||
      !watch(process.get(), id, EPOLLIN, EPOLL_CTL_ADD)) {
    return false;
  }
  // One entry waits for the end of the process, however often it registers in vain.
  forget_unheard(agent->record.pid);
  agent->watched = std::move(process);
  agent->unheard = true;
  agent->record.alive = false;
  drop(agent, why);
  return true;
}

void ConnectedAgents::drop(Agent* agent, const std::string& why) {
  if (agent->state == Agent::State::kDropped) return;
  agent->state = Agent::State::kDropped;
  hub_.tapes->ended(agent->source.agent);
  agent->why = agent->source.name() + ": its agent " + why + "; " +
               "not read any more, its executions are incomplete";
  hub_.recorder->lost(agent->why, NoConclusion::kNotHeard);
  hub_.recorder->agent_ended(agent->source, clock_ns());
}

void ConnectedAgents::end(uint32_t id) {
  const auto place = agents_.find(id);
  Agent& agent = place->second;
  if (agent.state == Agent::State::kRegistered) {
    // All that the agent published is read; what it was writing when it ended is lost.
    Drained last;
    do {
      last = drain(&agent);
    } while (last.events > 0 && agent.state == Agent::State::kRegistered);
    if (last.pending) {
      hub_.recorder->lost(agent.source.name() + ": process ended while it wrote an event",
                          NoConclusion::kOther);
    }
    // The end of the socket is not always the end of the process: a program may close the agent's
    // socket. A process that has ended, or executes another program, has the ring mapped no more.
    if (agent.state == Agent::State::kRegistered &&
        agent.ring->is_mapped_by(static_cast<pid_t>(agent.record.pid)) &&
        goes_on_unheard(id, &agent,
                        "has left, and its process goes on (its program closed the agent's "
                        "socket, or another session has it)")) {
      return;
    }
    hub_.recorder->agent_ended(agent.source, clock_ns());
  }
  forget(place);
}

void ConnectedAgents::forget(Agents::iterator place) {
  Agent& agent = place->second;
  hub_.host->agent_ended(place->first);
  hub_.tapes->ended(place->first);
  if (agent.state != Agent::State::kConnected) {
    agent.record.alive = false;
    ended_.push_back(std::move(agent.record));
    if (ended_.size() > kMaxEnded) ended_.pop_front();
  }
  agents_.erase(place);
}

void ConnectedAgents::forget_unheard(uint32_t pid) {
  for (auto place = agents_.begin(); place != agents_.end();) {
    const auto next = std::next(place);
    if (place->second.unheard && place->second.record.pid == pid) forget(place);
    place = next;
  }
}

ConnectedAgents::Drained ConnectedAgents::drain(Agent* agent) {
  Drained out;
  bool sound = true;
  const RingState state = agent->ring->drain(
      [&](const EventHead& head, std::span<const uint8_t> payload) {
        if (head.type == static_cast<uint16_t>(EventType::kListen)) listens(*agent, payload);
        if (head.type == static_cast<uint16_t>(EventType::kNoLimit)) waits(*agent, payload);
        const bool is_event = hub_.recorder->event(agent->source, head, payload);
        if (is_event) hub_.tapes->event(agent->source, head, payload);
        sound = is_event && sound;
        return true;
      },
      &out.events);
  if (const uint64_t dropped = agent->ring->take_dropped(); dropped != 0) {
    hub_.tapes->lost(agent->source.agent, dropped);
    hub_.recorder->lost(agent->source.name() + ": " + std::to_string(dropped) +
                            " events did not fit into the ring of its agent",
                        NoConclusion::kEventsLost, dropped);
  }
  out.pending = state == RingState::kPending;
  if (state == RingState::kCorrupt) {
    drop(agent, "has a malformed ring of events");
  } else if (!sound) {
    drop(agent, "sent a malformed event");
  }
  return out;
}

ConnectedAgents::Drained ConnectedAgents::drain() {
  Drained out;
  for (auto& [id, agent] : agents_) {
    if (agent.state != Agent::State::kRegistered) continue;
    const Drained one = drain(&agent);
    out.events += one.events;
    out.pending = out.pending || one.pending;
  }
  return out;
}

void ConnectedAgents::listens(const Agent& agent, std::span<const uint8_t> payload) {
  Listen listen;
  if (!decode(payload.data(), payload.size(), &listen)) {
    hub_.recorder->note(agent.source.name() + ": the report of a listening socket is malformed");
    return;
  }
  hub_.host->listens(agent.source, listen);
}

void ConnectedAgents::waits(const Agent& agent, std::span<const uint8_t> payload) {
  NoLimit event;
  if (decode(payload.data(), payload.size(), &event) && event.rpc >> 32 == agent.source.agent)
    hub_.host->waits_without_limit(event.rpc);
}

void ConnectedAgents::note_dropped() {
  for (const auto& [id, agent] : agents_) {
    if (agent.state != Agent::State::kDropped) continue;
    pollfd ended{agent.watched.get(), POLLIN, 0};
    if (agent.unheard && ::poll(&ended, 1, 0) != 0) continue;
    hub_.recorder->lost(agent.why, NoConclusion::kNotHeard);
  }
}

std::vector<AgentRecord> ConnectedAgents::records() const {
  std::vector<AgentRecord> out(ended_.begin(), ended_.end());
  for (const auto& [id, agent] : agents_) {
    if (agent.state != Agent::State::kConnected) out.push_back(agent.record);
  }
  return out;
}

bool ConnectedAgents::has_registered(uint32_t pid) const {
  return std::any_of(agents_.begin(), agents_.end(), [pid](const auto& row) {
    return row.second.state == Agent::State::kRegistered && row.second.record.pid == pid;
  });
}

}  // namespace filibuster
