#include "preload/runtimes/runtimes.h"

#include <span>

#include "preload/rpc/agent.h"
#include "preload/runtimes/node/node.h"

namespace filibuster::preload {
namespace {

constexpr const TaskReader* kReaders[] = {&kCpythonTasks, &node::kReader, &kJvmTasks, &kRubyTasks};

std::span<const TaskReader* const> readers() {
  return kReaders;
}

}  // namespace

constinit std::atomic<bool> g_runtimes_postponed{false};

void postpone_runtimes() {
  g_runtimes_postponed.store(true, std::memory_order_relaxed);
}

void install_runtimes() {
  for (const TaskReader* reader : readers()) {
    const std::string_view problem = reader->install();
    if (!problem.empty()) report_note(problem, NoteKind::kRuntime);
  }
}

bool waits_may_be_cut_short() {
  for (const TaskReader* reader : readers()) {
    if (reader->cuts_waits_short != nullptr && reader->cuts_waits_short()) return true;
  }
  return false;
}

TaskContext pull_task() {
  for (const TaskReader* reader : readers()) {
    if (reader->current == nullptr) continue;
    const TaskContext task = reader->current();
    if (task.state != TaskContext::State::kUnknown) return task;
  }
  return {};
}

void tell_runtimes(const RpcContext& incoming, bool multiplexed) {
  for (const TaskReader* reader : readers()) {
    if (reader->incoming != nullptr) reader->incoming(incoming, multiplexed);
  }
}

}  // namespace filibuster::preload
