// The door of a proxy: what filibuster-proxy (daemon/proxy) tells the agent that is preloaded into it, and
// asks of it. The proxy forwards the bytes of a process that it is attached to, and only it knows who in
// that process makes them. The library exports these functions, and the proxy finds them by dlsym, since it
// forwards without the library, too.
//
// Being a proxy (environment FILIBUSTER_ATTACHED: the pid of the attached process, and its program) means
// besides: no thread proves anything, since each forwards for all (incoming_begin, find_cause); the proxy's
// own listeners are no addresses of the service (report_listen); an accepted connection is named by the
// address that its caller asked for; and the attached program is the executable that reports name.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>

#include "core/rpc/attached_call.h"

extern "C" {

// Who makes the bytes that this thread sends next, and the connects that it begins, until the next call.
//   stack  frames as in RpcIssued::stack_text (core/protocol/events.h), innermost first, unfiltered. The
//          text stays valid until the next call. A line "?" is a frame that has no lasting name (code that
//          was made at run time). A first line "E" says that the program has no frame pointers: only the
//          innermost frame of the program itself is kept.
//   cause  a value as filibuster_attached_incoming gave it. Size 0: not known, and the agent's other rules
//          decide.
void filibuster_attached_origin(const char* stack, size_t stack_size, const char* cause,
                                size_t cause_size);

// The request whose bytes this thread sends next, until the next call. The texts stay valid until then.
void filibuster_attached_request(const filibuster::AttachedCall* call);

// The caller of the request, which was sent over `fd`, has the head of its answer with this status, or an error (0). Returns
// 1 if it has given up on a silence that was injected, while its connection goes on: nobody answers there any more.
int filibuster_attached_answered(int fd, uint64_t call, unsigned status);
// Some of what should have been told of the connection was lost: nobody will say how its open requests were answered, and
// later ones may not be announced.
void filibuster_attached_lost(int fd);

// The requests that are open on the accepted connection `fd`. Returns how many there are. If there is one,
// and it belongs to an execution, its value (core/rpc/header_field.h, of constant width) is written to
// `value`; otherwise value[0] becomes 0, if there is room for a value.
int filibuster_attached_incoming(int fd, char* value, size_t capacity);

// The same for the request that is open on one stream of the connection (HTTP/2). Returns 1 if there is one, else 0.
int filibuster_attached_stream(int fd, unsigned stream, char* value, size_t capacity);

// The bytes of `fd`, which was accepted or is about to connect, are those of the attached process itself:
// they are not followed.
void filibuster_attached_inner(int fd);

// `fd`, which is no socket, stands for a connection that the attached process has accepted at this address, and whose bytes do not
// pass here. `from_start`: all of them will be told. It is closed when the connection ends.
void filibuster_attached_watched(int fd, const sockaddr* address, socklen_t size, int from_start);
// So many events of such connections were lost: what they told is in no record, and that is said.
void filibuster_attached_requests_lost(unsigned events);
// The attached process has read these bytes of it (`requests`), or has written them, at this moment (CLOCK_MONOTONIC). bytes ==
// nullptr: so many that nobody saw. Returns 0 if the connection is not known, since there was no session: it is to be told again.
int filibuster_attached_seen(int fd, int requests, const char* bytes, size_t size,
                             uint64_t when_ns);

}  // extern "C"
