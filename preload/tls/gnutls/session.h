// One session of GnuTLS, as the transport of a followed connection. Which descriptor it is used on, its random
// tells (claims.h). While a fault stands in the place of the connection, the bytes of the pair are read and
// written past the library.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "preload/stream/connection.h"
#include "preload/stream/transport.h"
#include "preload/tls/gathered.h"
#include "preload/tls/gnutls/api.h"
#include "preload/tls/pump.h"

namespace filibuster::preload::gnutls {

class Session final : public Transport {
 public:
  // A session begins. (One that began unseen is not followed: its side is not known.)
  static void begin(const Api& api, SessionPtr session, bool server);
  // nullptr: not known.
  static Session* find(SessionPtr session);
  // The application ends it.
  static void end(SessionPtr session);

  // The connection, with the descriptor that carries it. Empty: it is not followed.
  Pinned connection(int* fd);

  bool reads_diverted() const;
  bool writes_diverted() const;
  // As gnutls_record_recv and gnutls_record_send.
  ssize_t read_diverted(void* data, size_t size);
  ssize_t write_diverted(const void* data, size_t size);

  ssize_t send(const OnTheWire& out) override;
  bool may_hold() override { return true; }
  void flushed(int) override {}
  bool enter() override;
  void leave() override { inside_.store(0); }
  bool has_unread() override;
  bool all_is_read() override { return true; }
  int plain_end(int real) override;
  void drop() override;

  // A thread of the agent uses the session in the place of the application (tls/pump.h), which still asks for
  // the pointers that it has given the session: to read and to write.
  struct Pointers {
    void* receive = nullptr;
    void* send = nullptr;
  };
  const Pointers* pumped() const { return engine_ != nullptr ? &pointers_ : nullptr; }

  class Use {
   public:
    explicit Use(Session* session);
    ~Use();
    Use(const Use&) = delete;

   private:
    Session* session_;
  };

  // What the library returned last, within send(); 0: it was not called.
  ssize_t sent = 0;
  // What gnutls_record_get_direction is to give after a result of ours: 0 reading, 1 writing; -1: the library's own.
  int own_direction = -1;

 private:
  const Api* api_ = nullptr;
  SessionPtr session_ = nullptr;  // nullptr: it has ended
  bool server_ = false;
  std::atomic<uint32_t> references_{0};
  std::atomic<int> inside_{0};  // threads of the application; -1: a thread of the agent is
  int fd_ = -1;
  uint64_t cookie_ = 0;
  Connection* connection_ = nullptr;
  Pointers pointers_;
  Engine* engine_ = nullptr;  // while a pump uses the session
  Gathered gathered_;
};

}  // namespace filibuster::preload::gnutls
