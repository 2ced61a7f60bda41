// Two sessions of OpenSSL in one process, a client and a server, on the two ends of a connection, driven by a sequence of bytes. A plain
// model says what the calls have to give: the bytes, their results, and readiness that agrees with SSL_pending.
//
// The sequence: a byte of ways (kClientMemory ...), a byte of the handshake (below 240: it is made first; else that many steps of it are,
// less 240), and pairs of an operation and its argument.
//
// One thread does all of it, and nothing blocks. In a session, a request that is written in part is held until it is whole: what was
// written has arrived only at the end of the sequence, when the last request is finished.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sessions {

// What happens to one request of this execution, if a fault does.
enum class Fault { kNone, kAnswer, kReset, kSilence };

// Aborts with what was wrong. `port`: where the process listens, on the loopback. True: a fault was met.
bool run(const uint8_t* data, size_t size, int port, Fault fault);

}  // namespace sessions
