// Who sends the bytes that are held for the application. The thread that wrote them sends them with the rest
// of the request, or before it waits. If it does neither, a thread of the agent sends them. That thread exists
// only while something is held, and for a moment longer, since another hold is likely to follow.
#pragma once

#include <cstdint>

#include "preload/stream/connection.h"

namespace filibuster::preload {

// Called by the owner of the request flow before it holds bytes on `c`. False: nobody but this thread would
// send the bytes, so they must not be held.
bool watch_hold(Connection& c, int fd);

// This thread has to flush `c` before it waits.
void remember_hold(Connection& c, int fd);
// Sends what this thread holds. Called before it waits. `but`: the descriptor on which the thread waits only
// to send more (CPython polls for POLLOUT before every send of a socket with a timeout).
void flush_holds_of_thread(int but = -1);
extern constinit thread_local uint32_t t_holds __attribute__((tls_model("initial-exec")));
// Sends what this thread holds before a read of `fd`, if the read may wait.
void flush_holds_before_read(int fd);

// The hold of this thread may wait for bytes that another thread produces (asyncio reads files in a pool of
// threads). It lasts while the event loop waits for them, for at most `ms` from the first such hold; 0: not at all.
void hold_patiently(int ms);
inline constexpr int kPatienceMs = 20;
// Where a helper has said that the bytes come, and a busy machine alone delays them.
inline constexpr int kPatienceWherePromisedMs = 100;
// What is left of that time, in milliseconds.
int patience_ms();

// The process ends: sends what any thread holds, as far as the sockets take it without waiting.
void flush_all_holds();
// Called in a forked child: the parent sends what it holds, and the child has no thread of the agent.
void forget_watches();

}  // namespace filibuster::preload
