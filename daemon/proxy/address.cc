#include "daemon/proxy/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace filibuster::proxy {
namespace {

constexpr std::array<uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

using Name = int (*)(int, sockaddr*, socklen_t*);

std::optional<Address> named(Name name, int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (name(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return std::nullopt;
  return from_socket(address);
}

}  // namespace

bool Address::is_ipv4() const {
  return std::equal(kMapped.begin(), kMapped.end(), ip.begin());
}

std::string Address::text() const {
  char digits[INET6_ADDRSTRLEN] = {};
  if (is_ipv4()) {
    inet_ntop(AF_INET, ip.data() + kMapped.size(), digits, sizeof digits);
    return std::string(digits) + ":" + std::to_string(port);
  }
  inet_ntop(AF_INET6, ip.data(), digits, sizeof digits);
  return "[" + std::string(digits) + "]:" + std::to_string(port);
}

Address from_event(const fb_address& address) {
  Address out;
  std::memcpy(out.ip.data(), address.ip, out.ip.size());
  out.port = address.port;
  return out;
}

fb_address to_key(const Address& address) {
  fb_address out{};
  std::memcpy(out.ip, address.ip.data(), sizeof out.ip);
  out.port = address.port;
  return out;
}

std::optional<Address> from_socket(const sockaddr_storage& address) {
  Address out;
  if (address.ss_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &address, sizeof in);
    std::copy(kMapped.begin(), kMapped.end(), out.ip.begin());
    std::memcpy(out.ip.data() + kMapped.size(), &in.sin_addr, sizeof in.sin_addr);
    out.port = ntohs(in.sin_port);
    return out;
  }
  if (address.ss_family != AF_INET6) return std::nullopt;
  sockaddr_in6 in{};
  std::memcpy(&in, &address, sizeof in);
  std::memcpy(out.ip.data(), &in.sin6_addr, out.ip.size());
  out.port = ntohs(in.sin6_port);
  return out;
}

socklen_t to_socket(const Address& address, sockaddr_storage* out) {
  std::memset(out, 0, sizeof *out);
  if (address.is_ipv4()) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(address.port);
    std::memcpy(&in.sin_addr, address.ip.data() + kMapped.size(), sizeof in.sin_addr);
    std::memcpy(out, &in, sizeof in);
    return sizeof in;
  }
  sockaddr_in6 in{};
  in.sin6_family = AF_INET6;
  in.sin6_port = htons(address.port);
  std::memcpy(&in.sin6_addr, address.ip.data(), address.ip.size());
  std::memcpy(out, &in, sizeof in);
  return sizeof in;
}

std::optional<Address> parse_address(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  std::string host(text.substr(0, colon));
  const std::string_view digits = text.substr(colon + 1);
  Address out;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out.port);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  if (host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
    if (inet_pton(AF_INET6, host.c_str(), out.ip.data()) != 1) return std::nullopt;
    return out;
  }
  std::copy(kMapped.begin(), kMapped.end(), out.ip.begin());
  if (inet_pton(AF_INET, host.c_str(), out.ip.data() + kMapped.size()) != 1) return std::nullopt;
  return out;
}

std::optional<Address> local_address(int fd) {
  return named([](int s, sockaddr* a, socklen_t* n) { return ::getsockname(s, a, n); }, fd);
}

std::optional<Address> peer_address(int fd) {
  return named([](int s, sockaddr* a, socklen_t* n) { return ::getpeername(s, a, n); }, fd);
}

}  // namespace filibuster::proxy
