// A connected stream pair that looks like what it replaces: TCP over loopback for AF_INET and
// AF_INET6, a socket pair for AF_UNIX (every wake-up style works alike on both ends of either).
#pragma once

#include <string_view>

namespace filibuster::preload {

struct Pair {
  int app = -1;    // becomes the application's descriptor
  int held = -1;   // ours: adopted (high, close-on-exec)
  int family = 0;  // AF_INET, AF_INET6 or AF_UNIX
};

// False: nothing was created (no loopback, no descriptors left).
bool make_pair(int family, Pair* out);
// Closes the ends that are still open.
void discard_pair(Pair* pair);

// Writes all of `bytes` on the held end without ever blocking. False: it does not fit the buffers.
bool write_on_held(const Pair& pair, std::string_view bytes);
// To be called before the held end goes to somebody who may close it to reset the application's end. A TCP
// socket is reset by its linger. An AF_UNIX socket is reset only by a close with unread data in the closing
// end (unix(7)), so this leaves a byte there.
void let_close_reset(const Pair& pair);
// Makes the application's end give ECONNRESET, also if a child of a fork shares the held end.
// Closes the held end.
void reset_app_end(Pair* pair);

}  // namespace filibuster::preload
