// The target of a gRPC channel, as gRPC names it ("gRPC Name Resolution", doc/naming.md of grpc). Whether a
// channel that was made before the session encrypts is not known, but its target is.
#pragma once

#include <cstdint>
#include <string_view>

namespace filibuster::preload::grpc {

// Has this process spoken HTTP/2 in the clear to the target? If that is not known when the session of this
// generation first asks, the answer stays 'no' for that session: the calls of the channel must not have
// another call site from some execution on.
bool is_plain_target(std::string_view target, uint64_t generation);

}  // namespace filibuster::preload::grpc
