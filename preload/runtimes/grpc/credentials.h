// May a call carry our field on a channel with these credentials? Only if the library is sure to see what the
// channel writes, so that it takes the field out again: in the clear, or above the encryption.
//
// What gRPC encrypts is seen if it encrypts with a shared OpenSSL 3, and if no connection by these credentials is
// older than the session. (Channels with the same credentials and target share their connections.) A tunnel
// through a proxy may be one that the configuration leaves alone, so with a proxy nothing is marked.
#pragma once

#include <cstdint>

#include "preload/runtimes/grpc/abi.h"

namespace filibuster::preload::grpc {

// A session's generation, or one of these.
inline constexpr uint64_t kNever = 0, kInEachSession = UINT64_MAX;

void insecure_credentials_made(const Credentials* credentials);
// They encrypt. `caller`: code that called gRPC.
void tls_credentials_made(const Credentials* credentials, const void* caller);
// They add something to each call of channels with `inner`.
void composite_credentials_made(const Credentials* credentials, const Credentials* inner);
void credentials_released(const Credentials* credentials);
// In which session calls on channels with these credentials may carry our field.
uint64_t marked_in(const Credentials* credentials);

// The same for a channel with encryption that is made now by the gRPC inside of the library at this path.
uint64_t tls_marked_in(const char* path);

}  // namespace filibuster::preload::grpc
