#include "preload/runtimes/runtimes.h"

#include <span>

#include "preload/os/symbols.h"
#include "preload/rpc/agent.h"
#include "preload/runtimes/jvm/vm.h"
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
  return jvm::known() || jvm::is_being_created() ||
         symbol_of_program("ruby_description") != nullptr;
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
