// What the observer of an attached process tells its proxy: records of any content, and what the proxy does with
// those that are events. No byte of a stream is lost or made up, whatever they say.
#include <cstdlib>

#include "daemon/proxy/events.h"
#include "daemon/proxy/farewell.h"
#include "daemon/proxy/go_calls.h"
#include "daemon/proxy/go_request.h"
#include "daemon/proxy/stack_texts.h"
#include "daemon/proxy/tasks.h"
#include "daemon/proxy/write_log.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace filibuster::proxy;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  WriteLog log;
  TaskTable tasks;
  StackTexts stacks;
  GoCalls calls;
  if (const auto request = read_go_request(input)) {
    if (request->method.empty() || request->target.empty()) std::abort();
    calls.begin(0, 2, *request);
  }
  uint32_t received = 0;
  const TaskTable::OpenRequest open = [](uint64_t connection) {
    return connection % 3 == 0 ? std::string() : std::to_string(connection % 5);
  };
  // A byte says how long the next record is, and how many bytes are read after it.
  while (input.size() > 1) {
    const size_t length = std::min<size_t>(static_cast<uint8_t>(input[0]) * 2, input.size() - 1);
    const uint8_t read = static_cast<uint8_t>(input[0]);
    const auto event = read_event(input.substr(1, length));
    input.remove_prefix(1 + length);
    if (event && event->kind == FB_WRITE) {
      const uint32_t stack =
          stacks.number(0, event->stack(), event->no_frame_pointers);  // no process has this number
      if (stack != 0 && stacks.text(stack).empty()) std::abort();
      log.add(event->position, event->size, {true, event->task, stack});
    } else if (event && event->kind == FB_READ) {
      tasks.read(event->task, event->remote.port, open);
      tasks.cause(event->task, open);
    } else if (event && event->kind == FB_CALL) {
      if (event->request) calls.begin(event->task.process, event->call, *event->request);
    } else if (event && event->kind == FB_ANSWER) {
      calls.sent(event->call, 1);
      const auto answer = calls.answered(event->call, event->status);
      if (answer && calls.find(event->call) != nullptr) std::abort();
    } else if (event) {
      tasks.exited(event->task.process);
      tasks.closed(event->remote.port);
    }
    size_t total = 0;
    for (const WriteLog::Piece& piece : log.take(received, read)) {
      if (piece.size == 0) std::abort();
      total += piece.size;
    }
    if (total != read) std::abort();
    received += read;
  }
  if (log.size() > WriteLog::kMost || tasks.size() > TaskTable::kMostTasks) std::abort();
  return 0;
}
