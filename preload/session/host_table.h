// The lane's table of names under which programs call services (core/protocol/lane_memory.h HostRow). Pure: testable over
// plain memory.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/protocol/lane_memory.h"

namespace filibuster::preload {

// The number of a name; 0: it is not in the table. Upper case and a dot at the end make no difference (RFC 1034 §3.1).
uint16_t number_of_name(const LaneMemory* lane, std::string_view name);

// Of the name for which an IPv4 address stands, which may be mapped into IPv6; 0: for none.
uint16_t number_of_address(const sockaddr* address, socklen_t size);
uint16_t port_of_address(const sockaddr* address);

// The row for a port of a name; nullptr: that port leads nowhere.
const HostRow* find_host(const LaneMemory* lane, uint16_t number, uint16_t port);
// Some row of a name; nullptr: there is none.
const HostRow* find_any_port(const LaneMemory* lane, uint16_t number);

// The address that stands for a name, as one number to the base 8 (inet_aton(3)), with zeros in front of it until it has as
// many characters as the name: who resolves it gets a copy, in whose place the name can be written.
inline constexpr size_t kAddressTextSize = sizeof(HostRow::name) + 2;
void write_address_text(uint16_t number, size_t name_size, char (&out)[kAddressTextSize]);
// The same of any address, in host byte order.
void write_long_address(uint32_t address, size_t name_size, char (&out)[kAddressTextSize]);

// Writes another IPv4 address and port into `address`, which number_of_address() knows.
void lead_address(sockaddr* address, const uint8_t (&to)[4], uint16_t port);

}  // namespace filibuster::preload
