// One session of GnuTLS, as the transport of a followed connection. Which descriptor it is used on, its random
// tells (claims.h). While a fault stands in the place of the connection, the bytes of the pair are read and
// written past the library.
#pragma once

#include <cstddef>

#include "preload/tls/gnutls/api.h"
#include "preload/tls/library_session.h"
#include "preload/tls/pump.h"

namespace filibuster::preload::gnutls {

class Session final : public LibrarySession {
 public:
  // A session begins. (One that began unseen is not followed: its side is not known.)
  static void begin(const Api& api, SessionPtr session, bool server);
  // nullptr: not known.
  static Session* find(SessionPtr session);
  // The application ends it.
  static void end(SessionPtr session);

  // The connection, with the descriptor that carries it. Empty: it is not followed.
  Pinned connection(int* fd);

  // As gnutls_record_recv and gnutls_record_send.
  ssize_t read_diverted(void* data, size_t size);
  ssize_t write_diverted(const void* data, size_t size);

  ssize_t send(const OnTheWire& out) override;
  bool may_hold() override { return true; }
  void flushed(int) override {}
  bool has_unread() override;
  bool all_is_read() override { return true; }
  int plain_end(int real) override;

  // A thread of the agent uses the session in the place of the application (tls/pump.h), which still asks for
  // the pointers that it has given the session: to read and to write.
  struct Pointers {
    void* receive = nullptr;
    void* send = nullptr;
  };
  const Pointers* pumped() const { return engine_ != nullptr ? &pointers_ : nullptr; }

  // What the library returned last, within send(); 0: it was not called.
  ssize_t sent = 0;
  // What gnutls_record_get_direction is to give after a result of ours: 0 reading, 1 writing; -1: the library's own.
  int own_direction = -1;

 private:
  void give_back() override;

  const Api* api_ = nullptr;
  SessionPtr session_ = nullptr;  // nullptr: it has ended
  bool server_ = false;
  Pointers pointers_;
  Engine* engine_ = nullptr;  // while a pump uses the session
};

}  // namespace filibuster::preload::gnutls
