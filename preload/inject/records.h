// What an application reads from a pair in the place of its encrypted connection, if it looks at the records of TLS
// itself before it gives them to its session (as Netty does with engines of the JDK): each piece is framed as a record,
//
//   17 03 03, the size in two bytes, and so many bytes in the clear (RFC 8446 §5.1)
//
// and the session takes the frame off. Framing is done where the application reads the descriptor, so that whoever
// writes into the pair knows nothing of it. A record is never longer than what has come, and not longer than what the
// application has room for, so it is whole as soon as it begins, but for a read of a few bytes.
#pragma once

#include <sys/types.h>

#include "core/pieces.h"
#include "preload/inject/inject.h"

namespace filibuster::preload {

bool gives_records_slow(int fd);
// Is `fd` such a descriptor? One relaxed load where nothing is replaced.
inline bool gives_records(int fd) {
  return g_replaced_now.load(std::memory_order_relaxed) != 0 && gives_records_slow(fd);
}

// In the place of a recv of `fd`: it waits as that one does. kNoRecords: the connection has taken its place again
// meanwhile, and the original is to be called.
inline constexpr ssize_t kNoRecords = -2;
ssize_t receive_records(int fd, Pieces room, int flags);

// The session has taken so many bytes, with their headers.
void take_records(int fd, size_t size);
// Has it taken all that the application has read from the pair?
bool all_records_are_taken(int fd);

}  // namespace filibuster::preload
