// What is known of who makes which bytes: brings the events together with the connections.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/proxy/door.h"
#include "daemon/proxy/event_source.h"
#include "daemon/proxy/go_calls.h"
#include "daemon/proxy/pair.h"
#include "daemon/proxy/stack_texts.h"
#include "daemon/proxy/tasks.h"
#include "daemon/proxy/watched.h"

namespace filibuster::proxy {

class Observer {
 public:
  // `events` may be none.
  Observer(Door door, std::unique_ptr<EventSource> events);

  int descriptor() const { return events_ != nullptr ? events_->descriptor() : -1; }
  // Takes every event that has come; false: there was none. To be called after bytes were read, and before they are forwarded: the
  // event of a write is there before its bytes.
  bool drain();

  void add(Pair* pair);
  void remove(Pair* pair);

  // Who made a piece of an outbound connection. `settle` is called with each inbound connection whose open
  // request matters, so that an answer that was written before is forwarded first.
  SentOrigin origin(const Writer& writer, const std::function<void(Pair*)>& settle);
  // What this thread sends next is made there.
  void tell(const SentOrigin& origin);
  // Some of it was sent to the server of the pair.
  void sent(const Pair& pair, const SentOrigin& origin);
  // Pairs of Pair::given_up over which another request was sent since the last call. They may be closed already.
  std::vector<uint64_t> take_used() { return std::exchange(used_, {}); }

 private:
  void take(const Event& event);
  void answered(const GoCalls::Answer& answer);
  void lost(uint32_t count);
  // Where the agent follows the inbound connection of that number, of a pair or watched; -1: there is none.
  int followed_inbound(uint64_t connection) const;
  std::string open_request(uint64_t connection) const;

  Door door_;
  std::unique_ptr<EventSource> events_;
  StackTexts stacks_;
  TaskTable tasks_;
  TaskTable::OpenRequest open_request_;
  GoCalls calls_;
  WatchedConnections watched_;
  uint32_t lost_ = 0;                                          // events, as of the last one
  std::unordered_map<uint64_t, Pair*> outbound_;               // by id
  std::unordered_map<uint64_t, Pair*> inbound_;                // by id
  std::unordered_map<uint16_t, Pair*> by_inner_port_;          // inbound
  std::unordered_map<Address, Pair*, AddressHash> by_client_;  // outbound
  // Of connections that were not accepted yet.
  std::unordered_map<Address, WriteLog, AddressHash> early_;
  std::string told_cause_;
  uint32_t told_stack_ = 0;
  uint64_t told_call_ = 0;
  GoRequest told_request_;
  std::vector<uint64_t> used_;
};

}  // namespace filibuster::proxy
