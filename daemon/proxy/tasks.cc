#include "daemon/proxy/tasks.h"

#include <algorithm>

namespace filibuster::proxy {

void TaskTable::read(const Task& task, uint64_t connection, const OpenRequest& open) {
  if (tasks_.size() >= kMostTasks && !tasks_.contains(task)) forget_idle(open);
  Known& known = tasks_[task];
  const std::string request = open(connection);
  bool found = false;
  std::erase_if(known.reads, [&](Read& read) {
    if (read.connection == connection) {
      found = true;
      read.request = request;
      return false;
    }
    const bool still = !read.request.empty() && open(read.connection) == read.request;
    if (still) known.serves_several = true;
    return !still;
  });
  if (found) return;
  known.reads.push_back({connection, request});
  std::vector<Task>& readers = readers_[connection];
  if (std::find(readers.begin(), readers.end(), task) == readers.end()) readers.push_back(task);
}

std::vector<uint64_t> TaskTable::connections_of(const Task& task) const {
  std::vector<uint64_t> out;
  const auto known = tasks_.find(task);
  if (known == tasks_.end() || known->second.serves_several) return out;
  for (const Read& read : known->second.reads) out.push_back(read.connection);
  return out;
}

std::string TaskTable::cause(const Task& task, const OpenRequest& open) const {
  const auto known = tasks_.find(task);
  if (known == tasks_.end() || known->second.serves_several) return {};
  std::string cause;
  for (const Read& read : known->second.reads) {
    if (read.request.empty() || open(read.connection) != read.request) continue;
    if (!cause.empty()) return {};
    cause = read.request;
  }
  return cause;
}

void TaskTable::closed(uint64_t connection) {
  const auto readers = readers_.extract(connection);
  if (readers.empty()) return;
  for (const Task& task : readers.mapped()) {
    const auto at = tasks_.find(task);
    if (at == tasks_.end()) continue;
    Known& known = at->second;
    std::erase_if(known.reads, [&](const Read& read) { return read.connection == connection; });
    // That it serves several is remembered for as long as it lives.
    if (known.reads.empty() && !known.serves_several) tasks_.erase(at);
  }
}

void TaskTable::exited(uint32_t process) {
  std::erase_if(tasks_, [&](const auto& entry) { return entry.first.process == process; });
}

void TaskTable::forget_idle(const OpenRequest& open) {
  std::erase_if(tasks_, [&](const auto& entry) {
    return std::none_of(entry.second.reads.begin(), entry.second.reads.end(),
                        [&](const Read& read) {
                          return !read.request.empty() && open(read.connection) == read.request;
                        });
  });
}

}  // namespace filibuster::proxy
