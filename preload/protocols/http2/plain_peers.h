// The addresses to which this process has spoken HTTP/2 in the clear, with a session or without: what a
// client that was made before the session may be believed to speak there, which does not tell.
#pragma once

#include <sys/socket.h>

#include <cstdint>

namespace filibuster::preload {

// IP and Unix addresses; others are left out. Of more than there is room for, the last ones are known.
void note_plain_peer(const sockaddr* address, socklen_t size);
bool is_plain_peer(const sockaddr* address, socklen_t size);
// Of any such address: for a peer that is only known by a name.
bool is_plain_port(uint16_t port);

}  // namespace filibuster::preload
