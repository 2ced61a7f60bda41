// What is held for the application, and who sends it: the thread that wrote it, with the rest or before
// it waits; and where it does neither, a thread of ours, which exists only while something is held (and
// for a moment longer, since the next one is likely to come).
#pragma once

#include <cstdint>

#include "preload/stream/connection.h"

namespace filibuster::preload {

// To be asked before anything is held on `c`, by the owner of its request flow. False: nobody would send
// it if this thread did not, so it must not be held.
bool watch_hold(Connection& c, int fd);

// This thread has to flush `c` before it waits.
void remember_hold(Connection& c, int fd);
// What this thread holds, before it waits. `but`: a descriptor that it waits for only to send more
// on (CPython polls for POLLOUT before every send of a socket with a timeout).
void flush_holds_of_thread(int but = -1);
extern constinit thread_local uint32_t t_holds __attribute__((tls_model("initial-exec")));
// The same before a read of `fd`, where that may wait.
void flush_holds_before_read(int fd);

// What this thread holds may wait for bytes that another thread will have it write (asyncio reads files in
// a pool), and stays while its event loop waits for that: for a moment (20 ms).
void hold_patiently();
// What is left of that moment, in milliseconds.
int patience_ms();

// The process ends: what any thread holds goes out, as far as it can without waiting.
void flush_all_holds();
// In a forked child: what the parent holds is the parent's to send, and there is no thread of ours.
void forget_watches();

}  // namespace filibuster::preload
