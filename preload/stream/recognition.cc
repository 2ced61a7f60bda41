#include "preload/stream/recognition.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "preload/os/bounded_wait.h"
#include "preload/stream/handshake_faults.h"
#include "preload/stream/registry.h"

namespace filibuster::preload {
namespace {

// How long another thread may take to set the protocol, which takes a microsecond.
constexpr uint64_t kPublishedWithinNs = 100'000'000;

using Recogniser = Recognised (*)(std::string_view);

Recogniser recogniser_of(const ProtocolRow& row, Traffic traffic) {
  return traffic == Traffic::kRequests ? row.requests : row.responses;
}

}  // namespace

bool publish(Connection& c, Followed* followed) {
  Followed* none = nullptr;
  return c.followed.compare_exchange_strong(none, followed, std::memory_order_acq_rel);
}

void* take_room(Connection& c) {
  if (!c.room_taken.exchange(true)) return c.room;
  wait_until([&] { return c.protocol() != nullptr; }, kPublishedWithinNs);
  return nullptr;
}

namespace {

// Waits while another thread sets the protocol of this connection.
Followed* published(Connection& c) {
  Followed* protocol = c.protocol();
  if (protocol == nullptr) give_up(c, NotInterposedReason::kMidStream);
  return protocol;
}

Followed* begun(Connection& c) {
  Followed* protocol = published(c);
  if (protocol != nullptr && !protocol->is_carrier()) handshake_was_taken(c);
  return protocol;
}

}  // namespace

Followed* recognise(Connection& c, Traffic traffic, Pieces pieces, size_t offset, size_t size) {
  if (Followed* known = c.protocol()) return known;  // the other direction has told
  KeptBytes& kept = c.first[static_cast<size_t>(traffic)];
  char first[KeptBytes::kMost];
  std::memcpy(first, kept.bytes, kept.size);
  const size_t more = std::min(size - offset, sizeof first - kept.size);
  pieces.copy(offset, first + kept.size, more);
  const std::string_view bytes(first, kept.size + more);
  bool undecided = false;
  for (const ProtocolRow& row : protocol_table()) {
    const Recogniser recogniser = recogniser_of(row, traffic);
    const Recognised is = recogniser == nullptr ? Recognised::kNo : recogniser(bytes);
    undecided = undecided || is == Recognised::kNeedMore;
    if (is != Recognised::kYes) continue;
    const bool whole = traffic == Traffic::kRequests && kept.size == 0 && offset == 0;
    row.begin(c, whole ? pieces : Pieces(), whole ? size : 0);
    return begun(c);
  }
  if (undecided && more == size - offset) {
    std::memcpy(kept.bytes, first, bytes.size());
    kept.size = static_cast<uint8_t>(bytes.size());
    return nullptr;
  }
  protocol_table().back().begin(c, {}, 0);
  return begun(c);
}

KeptBytes take_kept(Connection& c, Traffic traffic) {
  return std::exchange(c.first[static_cast<size_t>(traffic)], KeptBytes{});
}

FirstBytes::FirstBytes(Pieces pieces, size_t total, char* buffer, size_t capacity)
    : data(buffer), size(0) {
  for (size_t i = 0; i < pieces.count && size < std::min(total, capacity); ++i) {
    if (size == 0 && pieces[i].iov_len >= capacity) {
      data = static_cast<const char*>(pieces[i].iov_base);
      size = std::min(total, pieces[i].iov_len);
      return;
    }
    const size_t take = std::min({capacity - size, pieces[i].iov_len, total - size});
    if (take != 0) std::memcpy(buffer + size, pieces[i].iov_base, take);
    size += take;
  }
}

void try_to_join(Connection& c, int fd, bool sent, Pieces pieces, size_t size) {
  char gathered[512];
  const FirstBytes first(pieces, size, gathered, sizeof gathered);
  if (first.size == 0) return;
  const std::string_view bytes(first.data, first.size);
  NotInterposedReason reason = NotInterposedReason::kMidStream;
  for (const ProtocolRow& row : protocol_table()) {
    if (row.joins == nullptr) continue;
    switch (row.joins(bytes, &reason)) {
      case Joined::kRequests:
        c.role = sent ? Role::kClient : Role::kServer;
        if (!sent) name_server(c, fd);
        return row.begin(c, {}, 0);
      case Joined::kWait:
        return;
      case Joined::kNo:
        break;
    }
  }
  give_up(c, reason);
}

}  // namespace filibuster::preload
