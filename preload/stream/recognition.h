// Which protocol a stream speaks. Its first bytes tell, and they are kept until they do.
#pragma once

#include <sys/uio.h>

#include "core/pieces.h"
#include "preload/stream/connection.h"

namespace filibuster::preload {

// Called by the owner of the flow: bytes [offset, size) of the pieces come next in this direction. nullptr: the
// protocol is not known yet, and the bytes are kept. Else the protocol reads what take_kept() gives before them.
Followed* recognise(Connection& connection, Traffic traffic, Pieces pieces, size_t offset,
                    size_t size);
inline bool has_kept(const Connection& connection, Traffic traffic) {
  return connection.first[static_cast<size_t>(traffic)].size != 0;
}
KeptBytes take_kept(Connection& connection, Traffic traffic);

// The first `capacity` bytes of a transfer of `size` bytes as one text: the first piece if it is long enough,
// else a copy in `buffer`.
struct FirstBytes {
  FirstBytes(Pieces pieces, size_t size, char* buffer, size_t capacity);
  const char* data;
  size_t size;
};

// The connection was first seen in the middle. If these bytes, sent or received, tell on which side this
// process is, the connection is followed from here on.
void try_to_join(Connection& connection, int fd, bool sent, Pieces pieces, size_t size);

}  // namespace filibuster::preload
