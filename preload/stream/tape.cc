#include "preload/stream/tape.h"

#include <netinet/in.h>

#include <algorithm>

#include "core/protocol/tape.h"
#include "preload/os/raw_syscall.h"

namespace filibuster::preload {

static_assert(sizeof(std::atomic<uint64_t>) == 8 && std::atomic<uint64_t>::is_always_lock_free);

uint32_t taping_in_child() {
  const Attachment* a = parent_was_recorded() ? attach() : nullptr;
  return a == nullptr ? 0 : a->lane->recording.load(std::memory_order_relaxed);
}

namespace {

// A recording as this process takes part in it.
struct Recording {
  Attachment* a = nullptr;
  uint32_t number = 0;
  bool has_bytes = false;

  explicit operator bool() const { return a != nullptr; }
  // What a connection was last announced to. A forked child has an agent of its own.
  uint64_t stamp() const { return uint64_t{a->agent} << 32 | number; }
};

Recording recording() {
  Attachment* a = g_attachment.load(std::memory_order_acquire);
  const uint32_t value = a == nullptr ? 0 : a->lane->recording.load(std::memory_order_relaxed);
  if (value == 0) return {};
  return {a, value >> kRecordingShift, (value & kRecordBytes) != 0};
}

uint64_t transfer_time() {
  return t_seen_ns != 0 ? t_seen_ns : now_ns();
}

bool put(const Recording& r, TapeType type, std::span<const std::span<const uint8_t>> parts) {
  return ring_write(r.a->tape, static_cast<uint16_t>(type), current_execution(), transfer_time(),
                    parts);
}

template <typename Record>
void put(const Recording& r, TapeType type, const Record& record) {
  if (r.a->tape == nullptr) return;
  uint8_t bytes[64];
  const std::span<const uint8_t> part(bytes, encode(record, bytes, sizeof bytes));
  put(r, type, {&part, 1});
}

// --- what connection it is -----------------------------------------------------------------------

SeenFrom seen_from(const Connection& c, const Tapped& tapped, Traffic traffic, Pieces pieces) {
  // Of a session of TLS, the bytes before its own are no part of the stream.
  const bool whole = c.seen_from_start || c.transport.load(std::memory_order_relaxed) != nullptr;
  if (tapped.first && whole) return SeenFrom::kItsFirstByte;
  const Followed* protocol = c.protocol();
  // One that was joined begins with a request.
  const bool joins = !c.seen_from_start && c.requests == 0 && traffic == Traffic::kRequests &&
                     protocol->may_begin_with(pieces);
  return joins || protocol->is_idle(c) ? SeenFrom::kAMessage : SeenFrom::kTheMiddle;
}

uint16_t port_of(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET)
    return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  if (address.ss_family == AF_INET6)
    return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  return 0;
}

// getsockname or getpeername.
struct NameOfEnd {
  sockaddr_storage address{};
  char text[160];
  size_t size = 0;

  NameOfEnd(long call, int fd) {
    socklen_t length = sizeof address;
    if (fd < 0 || raw_syscall(call, fd, &address, &length) != 0) return;
    size = std::min(
        describe_address(reinterpret_cast<const sockaddr*>(&address), length, text, sizeof text),
        sizeof text);
  }
  std::string_view name() const { return {text, size}; }
};

void say_seen(const Recording& r, const Connection& c, int fd, ConnectionSeen* event) {
  event->connection = c.serial;
  event->recording = r.number;
  event->server = c.role == Role::kServer ? 1 : 0;
  event->service = c.target.name();
  // A server's connection is named by its own address.
  const NameOfEnd other(c.role == Role::kServer ? SYS_getpeername : SYS_getsockname, fd);
  event->local = c.role == Role::kServer ? c.peer_name() : other.name();
  event->peer = c.role == Role::kServer ? other.name() : c.peer_name();
  event->local_port = port_of(c.role == Role::kServer ? c.address : other.address);
  emit(r.a, EventType::kConnectionSeen, current_execution(), now_ns(), *event);
}

// Says of the connection what it is, once in each recording.
__attribute__((noinline)) void announce(const Recording& r, Connection& c, Tapped tapped,
                                        Traffic traffic, Pieces pieces, const Spoken& spoken) {
  uint64_t known = c.announced.load(std::memory_order_relaxed);
  if (known == r.stamp() || !c.announced.compare_exchange_strong(known, r.stamp())) return;
  c.taped_end.store(false, std::memory_order_relaxed);
  ConnectionSeen event;
  event.protocol = spoken.protocol;
  event.seen_from = seen_from(c, tapped, traffic, pieces);
  event.messages = spoken.messages;
  say_seen(r, c, tapped.fd, &event);
  if (r.has_bytes && r.a->tape == nullptr)
    report_note("there is no memory to record what goes over connections");
}

bool is_announced(const Recording& r, const Connection& c) {
  return c.announced.load(std::memory_order_relaxed) == r.stamp();
}

// Where the next bytes stand. The owner of the flow alone moves it on.
std::atomic<uint64_t>& position_of(const Recording& r, Connection& c, Traffic traffic) {
  TapedFlow& flow = c.taped[static_cast<size_t>(traffic)];
  if (flow.stamp != r.stamp()) {
    flow.stamp = r.stamp();
    flow.position.store(0, std::memory_order_relaxed);
  }
  return flow.position;
}

// The same for whoever does not own the flow, and may see it moved on by another thread.
uint64_t end_of(const Recording& r, const Connection& c, Traffic traffic) {
  const TapedFlow& flow = c.taped[static_cast<size_t>(traffic)];
  return flow.stamp == r.stamp() ? flow.position.load(std::memory_order_relaxed) : 0;
}

void say_place(const Connection& c, uint64_t rpc, uint32_t execution, uint64_t number,
               bool incoming) {
  const Recording r = recording();
  if (!r) return;
  RpcAt event;
  event.rpc = rpc;
  event.connection = c.serial;
  event.number = number;
  event.incoming = incoming ? 1 : 0;
  emit(r.a, EventType::kRpcAt, execution, now_ns(), event);
}

}  // namespace

// --- bytes ---------------------------------------------------------------------------------------

__attribute__((noinline)) void tape_bytes(Connection& c, Tapped tapped, Traffic traffic,
                                          Pieces pieces, size_t offset, size_t size) {
  const Recording r = recording();
  const Followed* protocol = c.protocol();
  if (!r || protocol == nullptr || size == 0 || !c.state.is_followed()) return;
  const Spoken spoken = protocol->spoken(c);
  if (spoken.protocol == StreamProtocol::kNone) return;
  if (!is_announced(r, c)) {
    // Whoever owns the flow of the requests may do this.
    if (traffic == Traffic::kRequests && c.role == Role::kClient) find_target_of(c);
    announce(r, c, tapped, traffic, pieces, spoken);
  }
  // What goes to the daemon is nobody's business.
  if (!r.has_bytes || (c.target.flags & (kTargetNever | kTargetIgnored)) != 0) return;
  std::atomic<uint64_t>& position = position_of(r, c, traffic);
  uint64_t at = position.load(std::memory_order_relaxed);
  position.store(at + size, std::memory_order_relaxed);
  if (r.a->tape == nullptr) return;

  TapeBytes record;
  record.connection = c.serial;
  record.recording = r.number;
  record.requests = traffic == Traffic::kRequests ? 1 : 0;
  constexpr size_t kParts = 15;
  uint8_t head[kTapeBytesHead];
  std::span<const uint8_t> parts[1 + kParts];
  parts[0] = head;
  while (size != 0) {
    size_t used = 0, taken = 0;
    pieces.each(offset, std::min(size, kMaxTapeBytes), [&](const char* part, size_t bytes) {
      parts[++used] = {reinterpret_cast<const uint8_t*>(part), bytes};
      taken += bytes;
      return used < kParts;
    });
    if (taken == 0) return;
    record.position = at;
    encode_head(record, head);
    put(r, TapeType::kBytes, {parts, 1 + used});
    at += taken;
    offset += taken;
    size -= taken;
  }
}

void tape_gap(Connection& c, Traffic traffic, uint64_t size) {
  const Recording r = recording();
  if (!r || !r.has_bytes || !is_announced(r, c) || size == 0) return;
  std::atomic<uint64_t>& position = position_of(r, c, traffic);
  TapeGap record;
  record.connection = c.serial;
  record.size = size;
  record.position = position.load(std::memory_order_relaxed) + size;
  record.recording = r.number;
  record.requests = traffic == Traffic::kRequests ? 1 : 0;
  record.reason = static_cast<uint8_t>(NotInterposedReason::kSpliced);
  position.store(record.position, std::memory_order_relaxed);
  put(r, TapeType::kGap, record);
}

void tape_given_up(const Connection& c, uint8_t reason) {
  const Recording r = recording();
  if (!r || !r.has_bytes || !is_announced(r, c)) return;
  TapeGap record;
  record.connection = c.serial;
  record.position = end_of(r, c, Traffic::kResponses);
  record.recording = r.number;
  record.reason = reason;
  put(r, TapeType::kGap, record);
}

void tape_closed(Connection& c, int error, bool by_peer) {
  const Recording r = recording();
  if (!r || !r.has_bytes || !is_announced(r, c)) return;
  if (by_peer && c.taped_end.exchange(true, std::memory_order_relaxed)) return;
  TapeClosed record;
  record.connection = c.serial;
  record.requests = end_of(r, c, Traffic::kRequests);
  record.answers = end_of(r, c, Traffic::kResponses);
  record.recording = r.number;
  record.error = error;
  record.by_peer = by_peer ? 1 : 0;
  put(r, TapeType::kClosed, record);
}

// --- places --------------------------------------------------------------------------------------

void place_rpc(const Connection& c, const OutgoingCall& call, uint64_t number) {
  if (call.active) say_place(c, call.rpc, call.execution, number, false);
}

void place_rpc(const Connection& c, const Incoming* incoming, uint64_t number) {
  if (incoming != nullptr) say_place(c, incoming->rpc, incoming->execution, number, true);
}

}  // namespace filibuster::preload
