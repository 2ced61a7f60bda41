// Addresses as the lane's name table and people write them. Pure.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/protocol/lane_memory.h"

namespace filibuster::preload {

// Kind, port and address of a row of the name table, canonical: of 127.0.0.0/8 and its mapped forms
// kLoopback with the address, of ::1 with 127.0.0.1, of the wildcard addresses with zeros. kEmpty for
// other families.
Target128 canonical_address(const sockaddr* address, socklen_t size);

// Same machine address, port left out: what tells the tries of one connect apart. For loopback the
// family takes part: ::1 and 127.0.0.1 are two addresses of one name.
Hash128 address_identity(const sockaddr* address, socklen_t size);

// "127.0.0.1:5001", "[::1]:80", "unix:/path", "unix:@abstract"; the length written, not terminated.
size_t write_address(const sockaddr* address, socklen_t size, char* out, size_t capacity);

// "127.0.0.1:5001" -> "127.0.0.1", "[::1]:80" -> "[::1]"; a Unix path stays.
std::string_view without_port(std::string_view peer);

}  // namespace filibuster::preload
