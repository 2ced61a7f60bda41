// Addresses as the lane's name table and people write them. Pure.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <string_view>

#include "core/protocol/lane_memory.h"

namespace filibuster::preload {

// Kind, port and address as in a row of the name table, in canonical form. 127.0.0.0/8 and its mapped
// forms are kLoopback with that address, ::1 is kLoopback with 127.0.0.1, and the wildcard addresses are
// kLoopback with zeros. Other families are kEmpty.
Target128 canonical_address(const sockaddr* address, socklen_t size);

// Hash of the family and the address, without the port. It tells the tries of one connect apart: ::1 and
// 127.0.0.1 are two addresses of one name.
Hash128 address_identity(const sockaddr* address, socklen_t size);

// "127.0.0.1:5001", "[::1]:80", "unix:/path", "unix:@abstract"; the length written, not terminated.
size_t write_address(const sockaddr* address, socklen_t size, char* out, size_t capacity);

// "127.0.0.1:5001" -> "127.0.0.1", "[::1]:80" -> "[::1]"; a Unix path stays.
std::string_view without_port(std::string_view peer);

}  // namespace filibuster::preload
