// What carries the bytes of a followed stream, if they are not those of the descriptor themselves: a TLS
// session (preload/tls). The stream then is what the application reads and writes above the encryption,
// and what the descriptor carries passes unread.
#pragma once

#include <sys/types.h>

#include "preload/inject/plain_end.h"
#include "preload/stream/edited_stream.h"

namespace filibuster::preload {

class Transport : public Encryption {
 public:
  // Sends what `out` holds; returns as send(2), with errno. After EAGAIN the same bytes are offered again,
  // and perhaps further ones behind them. Called by the owner of the request flow.
  virtual ssize_t send(const OnTheWire& out) = 0;
  // May a send of the application take a part of its bytes? If not, all of them go out in one call, unless the socket stops it.
  virtual bool takes_parts() const { return true; }
  // May bytes be held, that is sent by a hook of another call than the one that brought them?
  virtual bool may_hold() = 0;
  // Called after a hook has sent held bytes.
  virtual void flushed(int fd) = 0;
  // Another thread than the application's wants to send. False: the application may be inside.
  virtual bool enter() = 0;
  virtual void leave() = 0;
  // A pair stands in the place of the connection (inject/inject.h), and the descriptor has no bytes. Has the
  // application read all that came from it?
  virtual bool all_is_read() = 0;
  // A session that gets its encrypted bytes from the application may have to know what passes over the descriptor
  // of `fd`. Then begin_carrying() stands before each call that moves bytes there, and end_carrying() behind it.
  // `counted`: what begin_carrying() gave. `pieces` hold what was received.
  virtual bool watches_descriptor() const { return false; }
  virtual bool begin_carrying(int /*fd*/) { return false; }
  virtual void end_carrying(bool /*counted*/, Pieces /*pieces*/, size_t /*received*/) {}
  // While a pair stands in the place of the connection: how many of these encrypted bytes are of no use there.
  // They count as sent.
  virtual size_t obsolete(int /*fd*/, size_t /*size*/) { return 0; }
  // The connection is freed.
  virtual void drop() = 0;

 protected:
  ~Transport() = default;
};

}  // namespace filibuster::preload
