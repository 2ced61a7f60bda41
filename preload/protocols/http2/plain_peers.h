// The addresses to which this process has spoken HTTP/2 in clear text, with a session or without. A client
// that was made before the session does not tell what it speaks; this list is what is known of it.
#pragma once

#include <sys/socket.h>

#include <cstdint>

namespace filibuster::preload {

// Takes IP and Unix addresses, and ignores others. When the list is full, the oldest entry goes.
void note_plain_peer(const sockaddr* address, socklen_t size);
bool is_plain_peer(const sockaddr* address, socklen_t size);
// True if any address is known: for a peer of which only the name is known.
bool is_plain_port(uint16_t port);

}  // namespace filibuster::preload
