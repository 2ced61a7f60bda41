// The agents that are connected to a hub: how they are accepted and greeted, the reading of their
// messages and rings, their end, and who they were. What they say goes into the recorder, and to
// the host where it means more than a line of the record. The class has no thread and no lock: every
// function is called with the hub's lock held.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/protocol/events.h"
#include "daemon/agents/control_pages.h"
#include "daemon/agents/door.h"
#include "daemon/agents/lane_writer.h"
#include "daemon/agents/recorder.h"
#include "daemon/agents/registration.h"
#include "daemon/agents/ring_reader.h"
#include "daemon/agents/tapes.h"
#include "daemon/base/descriptors.h"
#include "daemon/model/execution_record.h"

namespace filibuster {

class ConnectedAgents {
 public:
  class Host {
   public:
    // The agent's process listens at the address that `listen` names.
    virtual void listens(const EventSource& agent, const Listen& listen) = 0;
    // What a fault of this RPC of the agent holds back is waited for without a limit.
    virtual void waits_without_limit(uint64_t rpc) = 0;
    // A message that comes after the Hello. False: it makes no sense.
    virtual bool take_hand_off(const EventSource& agent, Message* message) = 0;
    // Nothing more comes from the agent, which may never have been registered.
    virtual void agent_ended(uint32_t agent) = 0;

   protected:
    ~Host() = default;
  };
  // All of it belongs to the hub, and outlives this object.
  struct Surroundings {
    int epoll_fd = -1;
    uint64_t tag = 0;   // epoll data is `tag | number`; `tag` leaves the low 56 bits free
    int listener = -1;  // the socket of listen_at() (registration.h)
    const Door* door = nullptr;
    uint32_t lane_number = 0;
    const LaneWriter* lane = nullptr;
    const ControlPages* pages = nullptr;
    const std::string* application = nullptr;
    const std::set<std::string>* services = nullptr;  // HubOptions
    Recorder* recorder = nullptr;
    Tapes* tapes = nullptr;
    Host* host = nullptr;
  };
  struct Drained {
    uint64_t events = 0;
    bool pending = false;  // a record is being written
  };

  explicit ConnectedAgents(const Surroundings& hub) : hub_(hub) {}
  ConnectedAgents(const ConnectedAgents&) = delete;
  ConnectedAgents& operator=(const ConnectedAgents&) = delete;

  // False: the listener cannot be watched.
  bool start();
  // epoll reported something for `number` (without our tag).
  void ready(uint64_t number);
  // Accepts connections again after descriptors had run out. Called once in each turn of the hub.
  void resume_accepting();
  // Reads every ring to its published end.
  Drained drain();
  // Makes the execution that has begun incomplete for each agent that is not read any more.
  void note_dropped();

  // The agents that were registered: first the kMaxEnded that ended last, then the connected ones.
  std::vector<AgentRecord> records() const;
  bool has_registered(uint32_t pid) const;

 private:
  struct Agent {
    enum class State : uint8_t {
      kConnected,  // has not said Hello yet
      kRegistered,
      // The agent misbehaved, or its process goes on without it. It is not read any more, and
      // executions are incomplete.
      kDropped,
    };
    // The agent's connection, or a pidfd of its process if that goes on without it (`unheard`).
    UniqueFd watched;
    bool unheard = false;
    bool at_door = false;  // came by the door, and has to show the token
    State state = State::kConnected;
    std::string why;  // reason why the agent is dropped
    AgentRecord record;
    EventSource source;
    std::optional<RingReader> ring;
  };
  using Agents = std::map<uint32_t, Agent>;  // by number

  bool watch(int fd, uint64_t number, uint32_t events, int operation);
  bool watch_listeners(uint32_t events);
  void accept(uint64_t number);  // of a listener
  // Makes room for one more that knocks at the door and has not shown the token yet.
  void make_room_at_door();
  void read(uint32_t id);
  // False: the connection is to be closed.
  bool greet(uint32_t id, Agent* agent, const Message& message);
  void name_outside(const OutsideProgram& program);
  // Why the session does not take a process that was started by hand; kNone: it does.
  Refusal why_not_taken(const Greeting& greeting, pid_t pid) const;
  // Was the process started by one that takes part, or by this daemon?
  bool is_descendant(pid_t pid) const;
  std::string undecided(const std::string& who, const std::string& service) const;
  void drop(Agent* agent, const std::string& why);
  // Drops an agent whose process lives on, and waits for the end of that process. False: the process
  // has ended, or cannot be watched.
  bool goes_on_unheard(uint32_t id, Agent* agent, const std::string& why);
  void end(uint32_t id);
  // Removes an agent from which nothing more comes; its record goes to those that ended.
  void forget(Agents::iterator place);
  // Forgets the agents of a process that went on without them.
  void forget_unheard(uint32_t pid);
  Drained drain(Agent* agent);
  void listens(const Agent& agent, std::span<const uint8_t> payload);
  void waits(const Agent& agent, std::span<const uint8_t> payload);

  const Surroundings hub_;
  Agents agents_;
  std::deque<AgentRecord> ended_;
  uint32_t next_agent_ = 1;
  bool accepting_ = true;
  bool refused_at_door_ = false;  // the record says so
};

}  // namespace filibuster
