// What the sessions of all TLS libraries have in common, as transports of followed connections: the descriptor
// that they are used on, who uses them at the moment, and how long they live.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/tls/client_hello.h"
#include "preload/stream/connection.h"
#include "preload/stream/transport.h"
#include "preload/tls/gathered.h"
#include "preload/tls/tail.h"

namespace filibuster::preload {

class LibrarySession : public Transport {
 public:
  // Does a fault stand in the place of the connection? Then what the application reads comes from there,
  // and what it writes goes there, unless the real connection goes on behind it (inject/aside.h).
  bool reads_diverted() const;
  bool writes_diverted() const;

  // A session that gets its encrypted bytes from the application may be used while some of them are on their way:
  // another thread has received them, and will give them to the session. They are counted (counts_received()).
  bool begin_carrying(int fd) override;
  void end_carrying(bool counted, Pieces pieces, size_t received) override;

  // A session is used by one thread at a time (the libraries demand it). But a thread of the agent may want to send
  // what is held: this keeps the two apart.
  bool enter() override;
  void leave() override { inside_.store(0); }
  void drop() final;

  // For a hook, as long as it uses the session.
  class Use {
   public:
    explicit Use(LibrarySession* session);
    ~Use();
    Use(const Use&) = delete;

   private:
    LibrarySession* session_;
  };

 protected:
  ~LibrarySession() = default;

  // Nobody knows the session any more.
  virtual void give_back() = 0;
  // It becomes the transport of this connection. `connection_` is still what it was.
  virtual void joins(const Connection& /*c*/) {}
  // How many encrypted bytes it was given, since its connection began.
  virtual uint64_t consumed() const { return 0; }

  // From joins(): the connection was followed from its first byte on, and consumed() is known.
  void counts_received() { counted_ = true; }
  // A fault is about to take the descriptor away. False: some thread is using it.
  bool keep_carriers_out();
  // How many bytes are on their way.
  uint64_t under_way() const;

  // Finds the descriptor that has begun with this random (claims.h). False: there is none.
  bool find_descriptor(const tls::ClientRandom& random, bool server);
  // Is a thread of the agent inside?
  bool agent_is_inside() const { return inside_.load() < 0; }
  // The connection on `fd_`, which the session joins if it has not yet. Empty: it is not followed.
  Pinned join_connection(bool server);

  std::atomic<uint32_t> references_{1};
  int fd_ = -1;
  // Of the descriptor's socket, if it was found by the random. 0: the library has named the descriptor.
  uint64_t cookie_ = 0;
  // Its memory stays that of a connection (os/pool.h).
  Connection* connection_ = nullptr;
  bool counted_ = false;
  Tail received_;  // counted ones
  Gathered gathered_;

 private:
  // Threads of the application inside; -1: a thread of the agent is.
  std::atomic<int> inside_{0};
  // Threads that move encrypted bytes over the descriptor; -1: a fault is about to take it away.
  std::atomic<int> carrying_{0};
};

}  // namespace filibuster::preload
