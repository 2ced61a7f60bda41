// Connections that this process did not make: standard input of a program that inetd or systemd starts, what another program left
// open for it, what came in a message of a Unix socket, what was open before the session.
#pragma once

#include <sys/socket.h>

#include <cstdint>

#include "preload/stream/connection.h"

namespace filibuster::preload {

enum class DescriptorKind : uint8_t {
  kNotStream,  // a file, a pipe, an unnamed pair inside the application
  kDatagram,
  kListening,
  kNotConnected,
  kConnected,
};
bool is_stream_socket(int fd);
// As the kernel says. Writes the address of the peer if it is connected.
DescriptorKind kind_of(int fd, sockaddr_storage* peer, socklen_t* peer_size);

struct ReadyMade {
  bool untouched = false;      // nobody has read or sent a byte of it
  Role role = Role::kJoining;  // of the process that made it, if it is untouched
};
// What the kernel has counted on a connection; only of TCP it does.
ReadyMade look_at_ready_made(int fd);

// Descriptors are passed over this connection: it is a channel of the program's own, and no service of a protocol.
void carries_descriptors(int fd);

// The numbers below 64 that were stream sockets when this program began, as bits.
uint64_t inherited_streams();

// This process has made a stream socket, or accepted one: it is registered as soon as it moves any bytes, so that runtimes have
// their helpers before it connects. One that was only given sockets waits until it moves bytes of one: it may be a shell, or an
// interpreter that reads its files.
void made_stream_socket();
bool waits_for_given_stream();

// This process was given `fd`, which may be anything: nothing is known of the number any more, and a stream socket is the first
// sign that this process may belong to a session.
void given(int fd);

}  // namespace filibuster::preload
