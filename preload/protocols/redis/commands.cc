#include "preload/protocols/redis/commands.h"

#include <new>

#include "preload/os/pool.h"

namespace filibuster::preload {
namespace {

Pool<Command, 128, 1024> g_commands;
Pool<PlannedFault, 8, 128> g_planned_faults;

}  // namespace

Command* CommandQueue::push() {
  Command* memory = g_commands.take();
  if (memory == nullptr) return nullptr;
  auto* command = new (memory) Command;
  const uint64_t number = pushed_.load(std::memory_order_relaxed) + 1;
  command->number = number;
  pushed_.store(number, std::memory_order_relaxed);
  tail_->next.store(command, std::memory_order_release);
  tail_ = command;
  return command;
}

void CommandQueue::pop() {
  Command* first = front();
  if (first == nullptr) return;
  if (head_ != &before_first_) g_commands.give(head_);
  head_ = first;
  answered_.store(first->number, std::memory_order_release);
}

void CommandQueue::clear() {
  while (front() != nullptr) pop();
  if (head_ != &before_first_) g_commands.give(head_);
  before_first_.next.store(nullptr, std::memory_order_relaxed);
  head_ = tail_ = &before_first_;
}

PlannedFault* make_planned_fault() {
  PlannedFault* memory = g_planned_faults.take();
  return memory == nullptr ? nullptr : new (memory) PlannedFault;
}

void free_planned_fault(PlannedFault* fault) {
  g_planned_faults.give(fault);
}

}  // namespace filibuster::preload
