// Finishes the connections on which a fault fired, so that no thread of ours runs in the agents'
// processes: it keeps silences, reads real answers away, sends planned ones, and resets. All sockets
// are non-blocking and watched by the hub's epoll set; the caller serialises the calls.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "core/fault/fault.h"
#include "core/protocol/messages.h"
#include "daemon/base/descriptors.h"
#include "daemon/model/execution_record.h"
#include "daemon/model/hang_limit.h"

namespace filibuster {

class Finisher {
 public:
  // Takes the hang limit that the fault of an RPC has reached.
  using Report = std::function<void(uint32_t execution, uint64_t rpc, const HangLimit& limit)>;
  // Takes why a fault could not be in an answer.
  using Unmet = std::function<void(const HandOff& hand_off, const std::string& why)>;
  // Takes the server's error that passed in the place of a fault (Order::spares_errors).
  using Passed = std::function<void(const HandOff& hand_off, const PassedAnswer& answer)>;
  // Watched descriptors carry `tag | number` as epoll data; `tag` leaves the low 56 bits free.
  Finisher(int epoll_fd, uint64_t tag, Report report, Unmet unmet, Passed passed);
  ~Finisher();

  // What is to be done beside the kind of the hand-off.
  struct Order {
    std::string answer = {};  // what kDrainThenAnswer sends
    FaultSpec change = {};    // kChange
    // Of the kinds that read the real answer away: if it is an error already, it passes instead.
    bool spares_errors = false;
    bool holds = false;  // kChange: the request waits for release()
  };
  // Takes both descriptors over. False: one of them is no socket, and both were closed.
  bool take(const HandOff& hand_off, UniqueFd held, UniqueFd real, Order order,
            uint64_t hang_limit_ns, uint64_t now_ns);
  // epoll reported `events` for `data` (without our tag).
  void ready(uint64_t data, uint32_t events);
  // A thread of the caller waits without a limit for the answer to this RPC. Where the fault has sent half of it, the connection
  // ends at once, and the reason is reported; else the hang limit's report says so.
  void waits_without_limit(uint64_t rpc);
  // Does a request wait that belongs to this entry of the plan?
  bool is_held(uint32_t plan_entry) const;
  void release(uint32_t plan_entry);
  // Ends the connections that reached their limit, and reports why.
  void expire(uint64_t now_ns);
  // CLOCK_MONOTONIC of the next limit; 0: none.
  uint64_t next_deadline_ns() const;
  // Resets all connections that are left of `execution`; 0: of every execution.
  void reset_all(uint32_t execution);
  size_t size() const { return connections_.size(); }

 private:
  struct Connection;
  using Connections = std::unordered_map<uint64_t, std::unique_ptr<Connection>>;

  bool watch(int fd, uint64_t data, uint32_t events);
  void forward_request(uint64_t number, Connection* connection);
  void read_real(uint64_t number, Connection* connection);
  // Called when the real answer has been read. False: the connection is done.
  bool end_drain(uint64_t number, Connection* connection);
  bool change(uint64_t number, Connection* connection);
  // Passes the kept answer on if it is an error. False: it is none.
  bool pass_error(uint64_t number, Connection* connection);
  // Sends what may be sent now. False: the connection is done.
  bool send_answer(uint64_t number, Connection* connection);
  void discard_input(Connection* connection);

  const int epoll_fd_;
  const uint64_t tag_;
  const Report report_;
  const Unmet unmet_;
  const Passed passed_;
  uint64_t next_number_ = 1;
  Connections connections_;
};

}  // namespace filibuster
