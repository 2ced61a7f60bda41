// What the hooks of all TLS libraries do first: is there anything to do, and which connection is it about?
#pragma once

#include "preload/hooks/transfer.h"
#include "preload/inject/inject.h"

namespace filibuster::preload {

// Without a session, an answer of ours may still be unread.
inline bool tls_is_idle() {
  return nothing_to_do() && g_replaced_now.load(std::memory_order_relaxed) == 0;
}

// A session of a TLS library and the connection below it. Empty: they are not followed.
template <typename Session>
struct FollowedSession {
  Session* session = nullptr;
  Pinned connection;
  int fd = -1;

  FollowedSession() = default;
  explicit FollowedSession(Session* followed) : session(followed) {
    if (session != nullptr) connection = session->connection(&fd);
  }
  explicit operator bool() const { return static_cast<bool>(connection); }
};

}  // namespace filibuster::preload
