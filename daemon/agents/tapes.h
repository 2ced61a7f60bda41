// The tapes of all agents of a hub, and the thread that reads them while a recording runs.
//
// The hub's thread reads the event rings, under the hub's lock, and leaves a copy of each event here. The thread of the recording takes
// these away and reads the tapes, so that a sink that is slow holds up neither the hub nor an agent: what it cannot take is
// lost, and it is told so.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "daemon/agents/recordings.h"
#include "daemon/agents/ring_reader.h"

namespace filibuster {

class Tapes {
 public:
  Tapes() = default;
  ~Tapes() { end(); }
  Tapes(const Tapes&) = delete;

  // --- for the hub, with its lock held

  bool running() const { return running_.load(std::memory_order_relaxed); }
  // The agent has its tape. Error: no memory for what a recording that runs needs of it.
  Result<void> joined(const EventSource& source, std::shared_ptr<TapeReader> tape);
  void event(const EventSource& source, const EventHead& head, std::span<const uint8_t> payload);
  void lost(uint32_t agent, uint64_t events);
  // Nothing more comes from the agent. What is on its tape is still read.
  void ended(uint32_t agent);
  // The recording of that number begins. Precondition: none runs.
  Result<void> begin(std::shared_ptr<RecordingSink> sink, uint32_t number);

  // --- without it

  // No agent begins to write for the recording any more: reads what there is, and ends it.
  void end();
  // Gives the sink all that is there now.
  void turn();

 private:
  struct Agent {
    EventSource source;
    std::shared_ptr<TapeReader> tape;
    uint64_t lost = 0;
    bool ended = false;
    bool corrupt = false;  // the tape is none: never read again
  };
  struct Event {
    uint32_t agent;
    EventHead head;
    size_t size;  // of its payload
  };
  // Events of the rings, in order: their payloads stand one after the other.
  struct Queue {
    std::vector<Event> events;
    std::vector<uint8_t> payloads;
  };
  // What a turn works on.
  struct Batch {
    Queue queue;
    std::map<uint32_t, Agent> agents;
  };

  void run();
  Batch take();
  // False: a record is being written.
  bool deliver(Batch* batch);
  bool deliver_tape(Agent* agent);

  std::atomic<bool> running_{false};
  std::thread thread_;

  // Whoever calls the sink has this. Taken before `mutex_`.
  std::mutex delivery_;
  std::shared_ptr<RecordingSink> sink_;
  uint32_t number_ = 0;

  std::mutex mutex_;  // guards what follows; nothing is called with it
  std::condition_variable ending_changed_;
  bool ending_ = false;
  std::map<uint32_t, Agent> agents_;
  Queue queue_;
};

}  // namespace filibuster
