// The replacement of one socket of the application by an end of a pair: everything that can fail is
// prepared first, then the descriptor is exchanged, under all of its numbers and in epoll sets.
#pragma once

#include <sys/socket.h>

#include <cstdint>

#include "preload/inject/pair.h"
#include "preload/inject/plain_end.h"
#include "preload/inject/registrations.h"

namespace filibuster::preload {

struct Replacement {
  int original = -1;  // a copy of the real connection: one of our descriptors
  Pair pair;
  RegistrationFreeze freeze;  // until it is replaced or abandoned
  Registrations registrations;
  sockaddr_storage peer, local;
  socklen_t peer_size = 0, local_size = 0;
};

// nullptr, or why the descriptor cannot be replaced (then nothing has changed).
const char* prepare(int fd, Replacement* plan);
void abandon(Replacement* plan);
// Puts the pair's end into the place of the socket. `flags`: ReplacedFlags. `held` and `effect`: slots of
// the table's entry (replaced.h), or 0. `encryption` is that of the connection; nullptr: it has none.
void replace(Replacement* plan, Encryption* encryption, uint32_t flags, uint32_t held,
             uint32_t effect);
// Has the server sent bytes that nobody has read? (Of an encrypted connection the socket does not tell: a
// server sends tickets on its own.)
bool has_unread(const Replacement& plan, Encryption* encryption);
// Exchanges `original` for its plain end. False: that cannot be had.
bool decrypt(Replacement* plan, Encryption* encryption);

// Gives `to` those options of `from` that an application sets on a socket, and would miss.
void copy_options(int from, int to, int family);
// The real connection `socket` takes its place again under the numbers of `found`.
void exchange_back(int socket, const Registrations& found);

}  // namespace filibuster::preload
