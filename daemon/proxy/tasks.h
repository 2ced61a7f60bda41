// Which incoming request a task of the attached process works for. Pure.
//
// A task works for the request that it has read, if it has read only one that is still open. A task that was
// seen to read another request while one was open serves several at a time (an event loop), and proves nothing
// from then on. What is not known is not guessed: the agent's other rules decide then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/proxy/events.h"

namespace filibuster::proxy {

class TaskTable {
 public:
  // The value of the only request that is open on an inbound connection (core/rpc/header_field.h). Empty: none
  // is, several are, or it is not known.
  using OpenRequest = std::function<std::string(uint64_t connection)>;

  // Above it, tasks are forgotten that have read no request that is open.
  static constexpr size_t kMostTasks = 16384;

  // The task has read bytes of that connection.
  void read(const Task& task, uint64_t connection, const OpenRequest& open);
  // The connections that cause() will ask about.
  std::vector<uint64_t> connections_of(const Task& task) const;
  // The value of the request that the task works for. Empty: not known.
  std::string cause(const Task& task, const OpenRequest& open) const;

  void closed(uint64_t connection);
  void exited(uint32_t process);
  // Events are missing: nothing is known.
  void clear() {
    tasks_.clear();
    readers_.clear();
  }
  size_t size() const { return tasks_.size(); }

 private:
  struct Read {
    uint64_t connection;
    std::string request;  // that was open when it was read; empty: which one is not known
  };
  struct Known {
    std::vector<Read> reads;
    bool serves_several = false;
  };
  void forget_idle(const OpenRequest& open);

  std::unordered_map<Task, Known, TaskHash> tasks_;
  std::unordered_map<uint64_t, std::vector<Task>> readers_;  // by connection
};

}  // namespace filibuster::proxy
