// Which protocol a stream speaks: by its first bytes, of which as many are kept as it takes.
#pragma once

#include <sys/uio.h>

#include "core/pieces.h"
#include "preload/stream/connection.h"

namespace filibuster::preload {

// Owner of the flow: bytes [offset, size) of the pieces come next in this direction. nullptr: not known
// yet, and these are kept. Else what take_kept() gives is to be read before them.
Followed* recognise(Connection& connection, Traffic traffic, Pieces pieces, size_t offset,
                    size_t size);
inline bool has_kept(const Connection& connection, Traffic traffic) {
  return connection.first[static_cast<size_t>(traffic)].size != 0;
}
KeptBytes take_kept(Connection& connection, Traffic traffic);

// The first bytes of a transfer of `size` bytes, in one piece: where the first piece has `capacity`
// of them, it itself; else a copy in `buffer`.
struct FirstBytes {
  FirstBytes(Pieces pieces, size_t size, char* buffer, size_t capacity);
  const char* data;
  size_t size;
};

// Seen in the middle: do these first bytes, sent or received, tell which side this process is? Then it is
// followed, from here on.
void try_to_join(Connection& connection, bool sent, Pieces pieces, size_t size);

}  // namespace filibuster::preload
