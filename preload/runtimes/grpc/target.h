// What a channel of gRPC is told to connect to, by the names of gRPC ("gRPC Name Resolution",
// doc/naming.md of grpc). Of a channel that was made before the session it is not known whether it
// encrypts; where it leads to is.
#pragma once

#include <cstdint>
#include <string_view>

namespace filibuster::preload::grpc {

// Has this process spoken HTTP/2 in the clear to it? One of which that is not known when a session
// (of this generation) first asks is not believed to for the rest of it: its calls would have another
// call site from some execution on.
bool is_plain_target(std::string_view target, uint64_t generation);

}  // namespace filibuster::preload::grpc
