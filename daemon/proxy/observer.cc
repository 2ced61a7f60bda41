#include "daemon/proxy/observer.h"

#include <sched.h>

#include "daemon/proxy/go_lines.h"

namespace filibuster::proxy {
namespace {

constexpr size_t kMostEarly = 4096;
static_assert(AttachedCall::kNoRequest == FB_NO_REQUEST);
// How often a record is looked at again that another processor is just writing, which takes a microsecond.
constexpr int kPatience = 1000;

}  // namespace

Observer::Observer(Door door, std::unique_ptr<EventSource> events)
    : door_(door),
      events_(std::move(events)),
      stacks_(go_lines),
      open_request_([this](uint64_t id) { return open_request(id); }),
      watched_(door) {}

int Observer::followed_inbound(uint64_t connection) const {
  const auto pair = inbound_.find(connection);
  return pair == inbound_.end() ? watched_.descriptor(connection) : pair->second->client.fd.get();
}

std::string Observer::open_request(uint64_t connection) const {
  const int fd = followed_inbound(connection);
  return fd < 0 ? std::string() : door_.open_request(fd);
}

bool Observer::drain() {
  if (events_ == nullptr) return false;
  std::string_view record;
  bool any = false;
  for (int patience = kPatience;;) {
    switch (events_->next(&record)) {
      case EventSource::Next::kNone:
        return any;
      case EventSource::Next::kBusy:
        if (--patience == 0) return any;
        sched_yield();
        break;
      case EventSource::Next::kRecord:
        any = true;
        if (const auto event = read_event(record)) take(*event);
        break;
    }
  }
}

void Observer::take(const Event& event) {
  // Processors do not write their events in the order in which they have looked at the count.
  const auto more = static_cast<int32_t>((event.lost - lost_) << FB_LOST_SHIFT);
  if (more > 0) lost(static_cast<uint32_t>(more) >> FB_LOST_SHIFT);
  switch (event.kind) {
    case FB_EXIT:
      tasks_.exited(event.task.process);
      stacks_.exited(event.task.process);
      calls_.exited(event.task.process);
      return;
    case FB_READ: {
      const auto pair = by_inner_port_.find(event.remote.port);
      if (pair != by_inner_port_.end()) tasks_.read(event.task, pair->second->id, open_request_);
      return;
    }
    case FB_CALL:
      if (event.request) calls_.begin(event.task.process, event.call, *event.request);
      return;
    case FB_ANSWER:
      if (const auto answer = calls_.answered(event.call, event.status)) answered(*answer);
      return;
    case FB_REQUESTS:
      if (const uint64_t connection = watched_.take(event))
        tasks_.read(event.task, connection, open_request_);
      return;
    case FB_ANSWERS:
      watched_.take(event);
      return;
    case FB_CLOSED:
      if (const uint64_t connection = watched_.close(event)) tasks_.closed(connection);
      return;
    case FB_WRITE:
      break;
  }
  const Writer writer{true, event.task,
                      stacks_.number(event.task.process, event.stack(), event.no_frame_pointers),
                      event.stream, event.call};
  const auto known = by_client_.find(event.local);
  // An event comes before its bytes. One that is behind what was read is of the next connection from this port.
  if (known != by_client_.end() &&
      static_cast<int32_t>(event.position - known->second->received) >= 0) {
    known->second->log.add(event.position, event.size, writer);
    return;
  }
  if (early_.size() >= kMostEarly && !early_.contains(event.local)) early_.clear();
  early_[event.local].add(event.position, event.size, writer);
}

void Observer::answered(const GoCalls::Answer& answer) {
  const auto pair = outbound_.find(answer.pair);
  if (pair == outbound_.end()) return;
  if (door_.answered(pair->second->server.fd.get(), answer.call, answer.status))
    pair->second->given_up = true;
}

// Events are missing.
void Observer::lost(uint32_t count) {
  lost_ += count;
  tasks_.clear();
  calls_.clear();
  watched_.lost(count);
  for (const auto& [id, pair] : outbound_) {
    if (pair->server.fd.valid()) door_.answers_lost(pair->server.fd.get());
  }
}

void Observer::add(Pair* pair) {
  if (pair->kind == PairKind::kInbound) {
    inbound_[pair->id] = pair;
    by_inner_port_[pair->inner_port] = pair;
    return;
  }
  outbound_[pair->id] = pair;
  by_client_[pair->peer] = pair;
  const auto early = early_.find(pair->peer);
  if (early == early_.end()) return;
  pair->log = std::move(early->second);
  early_.erase(early);
}

void Observer::remove(Pair* pair) {
  if (pair->kind == PairKind::kInbound) {
    inbound_.erase(pair->id);
    const auto inner = by_inner_port_.find(pair->inner_port);
    if (inner != by_inner_port_.end() && inner->second == pair) by_inner_port_.erase(inner);
    tasks_.closed(pair->id);
    return;
  }
  outbound_.erase(pair->id);
  calls_.closed(pair->id);
  const auto known = by_client_.find(pair->peer);
  if (known != by_client_.end() && known->second == pair) by_client_.erase(known);
}

SentOrigin Observer::origin(const Writer& writer, const std::function<void(Pair*)>& settle) {
  if (!writer.known) return {};
  const std::vector<uint64_t> connections = tasks_.connections_of(writer.task);
  for (const uint64_t id : connections) {
    const auto pair = inbound_.find(id);
    if (pair != inbound_.end()) settle(pair->second);
  }
  const bool is_known = writer.call == FB_NO_REQUEST || calls_.find(writer.call) != nullptr;
  const uint64_t call = is_known ? writer.call : 0;
  if (writer.stream != 0 && connections.size() == 1) {
    const int fd = followed_inbound(connections.front());
    if (fd >= 0) return {writer.stack, door_.request_of_stream(fd, writer.stream), call};
  }
  return {writer.stack, tasks_.cause(writer.task, open_request_), call};
}

void Observer::tell(const SentOrigin& origin) {
  if (!door_.open()) return;
  // What follows the first bytes of a request is no request.
  const GoRequest* request = calls_.find_unsent(origin.call);
  const uint64_t call = request == nullptr && origin.call != 0 ? FB_NO_REQUEST : origin.call;
  if (told_call_ != call) {
    told_call_ = call;
    told_request_ = request != nullptr ? *request : GoRequest{};
    door_.request({call, told_request_.method, told_request_.host, told_request_.target,
                   told_request_.cut, told_request_.http2});
  }
  if (told_stack_ == origin.stack && told_cause_ == origin.cause) return;
  told_stack_ = origin.stack;
  told_cause_ = origin.cause;
  door_.origin(stacks_.text(told_stack_), told_cause_);
}

void Observer::sent(const Pair& pair, const SentOrigin& origin) {
  if (origin.call <= FB_NO_REQUEST) return;
  if (pair.given_up && calls_.find_unsent(origin.call) != nullptr) used_.push_back(pair.id);
  if (const auto answer = calls_.sent(origin.call, pair.id)) answered(*answer);
}

}  // namespace filibuster::proxy
