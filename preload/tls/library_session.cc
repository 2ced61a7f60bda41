#include "preload/tls/library_session.h"

#include <algorithm>

#include "preload/inject/inject.h"
#include "preload/os/bounded_wait.h"
#include "preload/stream/registry.h"
#include "preload/tls/claims.h"

namespace filibuster::preload {
namespace {

constexpr uint64_t kEnteredWithinNs = 1'000'000'000;
// What is waited for is a system call that does not wait.
constexpr uint64_t kCarriedWithinNs = 100'000'000;

}  // namespace

bool LibrarySession::reads_diverted() const {
  return is_replaced(fd_);
}
bool LibrarySession::writes_diverted() const {
  return is_replaced(fd_) && (connection_ == nullptr || connection_->aside.load() < 0);
}

bool LibrarySession::enter() {
  int nobody = 0;
  return inside_.compare_exchange_strong(nobody, -1);
}

LibrarySession::Use::Use(LibrarySession* session) : session_(session) {
  const auto is_in = [this] {
    int inside = session_->inside_.load();
    return inside >= 0 && session_->inside_.compare_exchange_strong(inside, inside + 1);
  };
  if (!wait_until(is_in, kEnteredWithinNs)) session_ = nullptr;
}
LibrarySession::Use::~Use() {
  if (session_ != nullptr) session_->inside_.fetch_sub(1);
}

void LibrarySession::drop() {
  if (references_.fetch_sub(1) != 1) return;
  gathered_.drop();
  received_.drop();
  give_back();
}

bool LibrarySession::begin_carrying(int fd) {
  const auto is_in = [&] {
    int carrying = carrying_.load();
    if (carrying < 0 && is_replaced(fd)) return carrying_.compare_exchange_strong(carrying, 1);
    return carrying >= 0 && carrying_.compare_exchange_strong(carrying, carrying + 1);
  };
  // A fault that is about to take the descriptor away, and does not, leaves the mark behind.
  if (!wait_until(is_in, kCarriedWithinNs)) carrying_.store(1);
  return !is_replaced(fd);
}

void LibrarySession::end_carrying(bool counted, Pieces pieces, size_t received) {
  if (counted && received != 0) {
    received_.add(pieces, received, under_way());
    connection_->carried_in += received;
  }
  --carrying_;
}

bool LibrarySession::keep_carriers_out() {
  const auto is_out = [this] {
    int threads = 0;
    return carrying_.compare_exchange_strong(threads, -1) || threads < 0;
  };
  return wait_until(is_out, kCarriedWithinNs);
}

uint64_t LibrarySession::under_way() const {
  if (!counted_) return 0;
  const uint64_t received = connection_->carried_in, used = consumed();
  return received - std::min(received, used);
}

bool LibrarySession::find_descriptor(const tls::ClientRandom& random, bool server) {
  Claim claim;
  if (!find_hello(random, server, &claim)) return false;
  const Pinned found = preload::find(claim.fd);
  if (!found || found->serial != claim.serial) return false;
  fd_ = claim.fd;
  cookie_ = found->cookie;
  return true;
}

Pinned LibrarySession::join_connection(bool server) {
  Pinned c = follow(fd_);
  if (!c || c->transport.load(std::memory_order_acquire) == this) return c;
  if (cookie_ != 0 && c->cookie != cookie_) return Pinned();
  if (!claim(*c, this, server)) return Pinned();
  references_.fetch_add(1);
  joins(*c);
  connection_ = &*c;
  return c;
}

}  // namespace filibuster::preload
