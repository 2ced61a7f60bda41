// An address of TCP as the programs of bpf/ name it: IPv4 as ::ffff:a.b.c.d.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "bpf/attached.h"

namespace filibuster::proxy {

struct Address {
  std::array<uint8_t, 16> ip{};  // network order
  uint16_t port = 0;             // host order
  bool operator==(const Address&) const = default;

  bool is_ipv4() const;
  // "127.0.0.1:80", "[::1]:80"
  std::string text() const;
};

Address from_event(const fb_address& address);
fb_address to_key(const Address& address);
// nullopt: not of IPv4 or IPv6.
std::optional<Address> from_socket(const sockaddr_storage& address);
// Returns the size of what was written. An IPv4 address becomes an AF_INET one.
socklen_t to_socket(const Address& address, sockaddr_storage* out);
// "127.0.0.1:80", "[::1]:80". nullopt: something else.
std::optional<Address> parse_address(std::string_view text);

std::optional<Address> local_address(int fd);
std::optional<Address> peer_address(int fd);

struct AddressHash {
  size_t operator()(const Address& address) const {
    return std::hash<std::string_view>()(
               {reinterpret_cast<const char*>(address.ip.data()), address.ip.size()}) ^
           address.port * 0x9E3779B97F4A7C15ull;
  }
};

}  // namespace filibuster::proxy
