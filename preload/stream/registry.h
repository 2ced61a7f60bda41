// Descriptors: which number is which connection. A two-level table, looked up without a lock.
//
// An entry is made by connect or accept in a session, or when an unknown descriptor first moves
// bytes. Numbers that are not stream sockets are marked, so that files and pipes cost one load.
// Whatever gives a number out (socket, accept, dup, a received descriptor) resets its entry first;
// closes that bypass libc are noticed by SO_COOKIE before a message is changed.
#pragma once

#include <sys/socket.h>

#include <cstdint>

#include "preload/stream/connection.h"

namespace filibuster::preload {

enum class Mark : uintptr_t {
  kUnknown = 0,
  kNotStream = 1,  // a file, a pipe, an unnamed pair: it is not followed
  kDatagram = 2,
  kListening = 3,
  // A datagram socket that was connected and has sent nothing. A client connects one only to learn which of
  // its own addresses leads to a server (RFC 6724 §5).
  kConnectedDatagram = 4,
  // A protocol noted something about its first bytes before there was a session (Noted).
  kFirstNote = 5,
  kSecondNote = 6,
  // Of a proxy: the bytes are those of the attached process itself (runtimes/attached/door.h).
  kInner = 7,
  kLastMark = 15,
};

// The connection behind `fd`, pinned, or none: pass through. `fd` may be anything.
Pinned follow(int fd);
// The connection if there is one already; never makes one.
Pinned find(int fd);
Mark mark_of(int fd);
void set_mark(int fd, Mark mark);
Mark mark_for(Noted noted);

// The number was given out anew: forgets the connection behind it, which is ended if no close was seen.
void forget(int fd);
// Was the number closed past the hooks, and is it that of another socket now? It costs a system call: callers ask where nothing
// is under way on the connection.
bool given_anew(const Connection& connection, int fd);
// The application closes it (or replaces it): flush, then forget.
void closing(int fd);
// `copy` is a duplicate of `fd`.
void share(int fd, int copy);

// A connection that was just accepted on `listener` / is about to connect.
void accepted(int listener, int fd);
Pinned connecting(int fd, const sockaddr* address, socklen_t size);

// `fd` stands for a connection that another process has accepted (runtimes/attached/watched.cc). `address`: where. `from_start`:
// all of its bytes will be shown.
void watched(int fd, const sockaddr* address, socklen_t size, bool from_start);

// This process turns out to be the server of the connection behind `fd`, which it did not accept: names it as accepted() does.
void name_server(Connection& connection, int fd);

// Every descriptor that names a connection, with the connection pinned.
void each_connection(void (*visit)(int fd, Connection& connection, const void* context),
                     const void* context);

// Reports a datagram socket's peer once.
void report_datagram(const sockaddr* address, socklen_t size);

// Was anything ever entered? (closes need not look otherwise)
extern std::atomic<bool> g_registry_used;

}  // namespace filibuster::preload
