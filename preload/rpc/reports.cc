// What the daemon should hear apart from RPCs: connections that are not interposed, notes, and
// connections handed over.
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <span>

#include "core/protocol/messages.h"
#include "preload/os/bounded_wait.h"
#include "preload/os/raw_syscall.h"
#include "preload/rpc/agent.h"
#include "preload/session/state.h"

namespace filibuster::preload {
namespace {

// Hashes of the texts that were reported. If there is no room, a text is reported again rather than never.
constexpr uint32_t kSaidSlots = 256;
constinit std::atomic<uint64_t> g_said[kSaidSlots]{};

constexpr size_t kNoteSize = 512;

constexpr uint32_t kScratchCount = 64;
static_assert(kScratchCount == 64, "one bit each");
constinit std::atomic<uint64_t> g_scratch_used{0};
// A buffer is held for microseconds, but by threads that may lose their processor meanwhile.
constexpr uint64_t kMostWaitNs = 1'000'000'000;
alignas(64) uint8_t g_scratch[kScratchCount][Scratch::kSize];

bool first_time(std::string_view text) {
  const Hash128 hash = hash_text(text);
  const uint64_t key = hash.lo != 0 ? hash.lo : 1;
  for (uint32_t i = 0; i < kSaidSlots; ++i) {
    std::atomic<uint64_t>& slot = g_said[(key + i) % kSaidSlots];
    uint64_t seen = slot.load(std::memory_order_relaxed);
    if (seen == 0 && slot.compare_exchange_strong(seen, key, std::memory_order_relaxed))
      return true;
    if (seen == key) return false;
  }
  return true;
}

std::string_view cut(std::string_view text, size_t most) {
  return text.substr(0, most);
}

}  // namespace

Scratch::Scratch(Patience patience) : data_(nullptr) {
  const auto taken = [this] { return take(); };
  if (!take() && patience == Patience::kBounded) wait_until(taken, kMostWaitNs);
}

bool Scratch::take() {
  uint64_t used = g_scratch_used.load(std::memory_order_relaxed);
  while (~used != 0) {
    const auto slot = static_cast<uint32_t>(__builtin_ctzll(~used));
    if (g_scratch_used.compare_exchange_weak(used, used | uint64_t{1} << slot,
                                             std::memory_order_acquire)) {
      slot_ = slot;
      data_ = g_scratch[slot];
      return true;
    }
  }
  return false;
}
Scratch::~Scratch() {
  if (data_ != nullptr)
    g_scratch_used.fetch_and(~(uint64_t{1} << slot_), std::memory_order_release);
}
void Scratch::after_fork_in_child() {
  g_scratch_used.store(0, std::memory_order_relaxed);
}

constinit thread_local uint64_t t_seen_ns __attribute__((tls_model("initial-exec"))) = 0;

void write_event(Attachment* attachment, EventType type, uint32_t execution, uint64_t time_ns,
                 const uint8_t* data, size_t size) {
  const std::span<const uint8_t> part(data, size);
  if (t_seen_ns != 0) time_ns = t_seen_ns;
  ring_write(attachment->ring, static_cast<uint16_t>(type), execution, time_ns, {&part, 1});
}

void emit_issued(Attachment* attachment, uint32_t execution, uint64_t time_ns,
                 const RpcIssued& issued, std::span<uint8_t> buffer) {
  if (const size_t size = encode(issued, buffer.data(), buffer.size()); size != 0) {
    write_event(attachment, EventType::kRpcIssued, execution, time_ns, buffer.data(), size);
    return;
  }
  RpcIssued event = issued;
  Scratch scratch;
  if (!scratch) {
    // Every buffer is with another thread: the identity of the RPC matters more than its texts.
    event.target = cut(event.target, 128);
    event.stack_text = cut(event.stack_text, 128);
    event.body = {};
    event.flags |= kRpcPayloadTruncated;
    emit(attachment, EventType::kRpcIssued, execution, time_ns, event);
    return;
  }
  size_t size = encode(event, scratch.data(), Scratch::kSize);
  if (size == 0) {
    event.body = cut(event.body, 1024);
    event.stack_text = cut(event.stack_text, 8192);
    event.flags |= kRpcPayloadTruncated;
    size = encode(event, scratch.data(), Scratch::kSize);
  }
  if (size == 0) {
    attachment->ring->dropped.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  write_event(attachment, EventType::kRpcIssued, execution, time_ns, scratch.data(), size);
}

void reset_reports() {
  for (auto& slot : g_said) slot.store(0, std::memory_order_relaxed);
}

void report_not_interposed(NotInterposedReason reason, bool outgoing, std::string_view peer,
                           std::string_view service) {
  if (!own_process()) return;
  Attachment* attachment = attach();
  if (attachment == nullptr) return;
  NotInterposed event;
  event.reason = reason;
  event.outgoing = outgoing ? 1 : 0;
  event.peer = cut(peer, 256);
  event.service = cut(service, 256);
  emit(attachment, EventType::kNotInterposed, current_execution(), now_ns(), event);
}

void report_unseen_requests(uint64_t count, std::string_view peer, std::string_view service) {
  if (!own_process()) return;
  const uint32_t execution = current_execution();
  Attachment* attachment = attach();
  if (attachment == nullptr || execution == 0) return;
  UnseenRequests event;
  event.count = count;
  event.peer = cut(peer, 256);
  event.service = cut(service, 256);
  emit(attachment, EventType::kUnseenRequests, execution, now_ns(), event);
}

void report_note(std::string_view text, NoteKind kind) {
  if (!own_process()) return;
  Attachment* attachment = attach();
  if (attachment == nullptr) return;
  text = cut(text, kNoteSize);
  if (!first_time(text)) return;
  Note event;
  event.kind = kind;
  event.text = text;
  emit(attachment, EventType::kNote, current_execution(), now_ns(), event);
}

void report_note(std::initializer_list<std::string_view> parts, NoteKind kind) {
  char text[kNoteSize];
  size_t used = 0;
  for (const std::string_view part : parts) used += part.copy(text + used, sizeof text - used);
  report_note(std::string_view(text, used), kind);
}

void report_fault(const OutgoingCall& call, FaultHow how, std::string_view detail) {
  Attachment* attachment = g_attachment.load(std::memory_order_acquire);
  if (attachment == nullptr || !attachment->issued(call.rpc, call.generation)) return;
  FaultFired event;
  event.rpc = call.rpc;
  event.plan_entry = call.plan.id;
  event.how = static_cast<uint8_t>(how);
  event.attempt = call.attempt.number;
  event.grouped_by = call.attempt.grouped_by;
  event.detail = cut(detail, 512);
  emit(attachment, EventType::kFaultFired, call.execution, now_ns(), event);
}

void report_no_limit(const OpenCall& call) {
  Attachment* attachment = g_attachment.load(std::memory_order_acquire);
  if (attachment == nullptr || !attachment->issued(call.rpc, call.generation)) return;
  NoLimit event;
  event.rpc = call.rpc;
  emit(attachment, EventType::kNoLimit, call.execution, now_ns(), event);
}

namespace {

// The daemon owns the descriptors from then on. `extra`: what follows the message.
bool send_hand_off(const OutgoingCall& call, HandOffKind kind, bool head_request, int held,
                   int real, std::span<iovec> extra) {
  Attachment* attachment = g_attachment.load(std::memory_order_acquire);
  if (attachment == nullptr || !attachment->issued(call.rpc, call.generation) || held < 0)
    return false;

  HandOff message;
  message.kind = kind;
  message.rpc = call.rpc;
  message.plan_entry = call.plan.id;
  message.execution = call.execution;
  message.head_request = head_request ? 1 : 0;
  message.protocol = static_cast<uint8_t>(protocol_of(call.flags));
  message.replies = call.replies;

  iovec data[3] = {{&message, sizeof message}, {}, {}};
  size_t pieces = 1;
  size_t size = sizeof message;
  for (const iovec& piece : extra) {
    data[pieces++] = piece;
    size += piece.iov_len;
  }
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
  const int descriptors[2] = {held, real};
  const size_t count = real >= 0 ? 2 : 1;
  msghdr header{};
  header.msg_iov = data;
  header.msg_iovlen = pieces;
  header.msg_control = control;
  header.msg_controllen = CMSG_SPACE(count * sizeof(int));
  cmsghdr* rights = CMSG_FIRSTHDR(&header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(count * sizeof(int));
  std::memcpy(CMSG_DATA(rights), descriptors, count * sizeof(int));

  long sent;
  do {
    sent = raw_syscall(SYS_sendmsg, attachment->socket.load(std::memory_order_relaxed), &header,
                       MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (sent == -EINTR);
  if (sent != static_cast<long>(size)) return false;
  for (size_t i = 0; i < count; ++i) {
    if (is_own_descriptor(descriptors[i])) {
      release_descriptor(descriptors[i]);
    } else {
      raw_syscall(SYS_close, descriptors[i]);
    }
  }
  return true;
}

}  // namespace

bool hand_off(const OutgoingCall& call, HandOffKind kind, bool head_request, int held, int real) {
  return send_hand_off(call, kind, head_request, held, real, {});
}

bool hand_off_relay(const OutgoingCall& call, const RelayState& state, const char* tail, int held,
                    int real) {
  RelayState copy = state;
  const size_t size = state.table_size + state.half_read_size;
  iovec extra[2] = {{&copy, sizeof copy}, {const_cast<char*>(tail), size}};
  return send_hand_off(call, HandOffKind::kRelay, false, held, real,
                       {extra, size == 0 ? size_t{1} : size_t{2}});
}

}  // namespace filibuster::preload
