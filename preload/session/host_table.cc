#include "preload/session/host_table.h"

#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace filibuster::preload {
namespace {

constexpr size_t kMappedSize = 12;  // ::ffff: in front of an IPv4 address
constexpr uint8_t kMappedPrefix[kMappedSize] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

char in_lower_case(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string_view name_of(const HostRow& row) {
  return {row.name, std::min<size_t>(row.name_size, sizeof row.name)};
}

// The first row that `matches`; the rows do not change once they are counted.
template <typename Matches>
const HostRow* find_row(const LaneMemory* lane, const Matches& matches) {
  const uint32_t count = std::min(lane->host_count.load(std::memory_order_acquire), kMaxHosts);
  const HostRow* const end = lane->hosts + count;
  const HostRow* const found = std::find_if(lane->hosts, end, matches);
  return found == end ? nullptr : found;
}

// Where the four bytes of the address stand; nullptr: it has none.
const uint8_t* ip4_in(const sockaddr* address, socklen_t size) {
  if (address == nullptr || size < sizeof address->sa_family) return nullptr;
  if (address->sa_family == AF_INET && size >= sizeof(sockaddr_in))
    return reinterpret_cast<const uint8_t*>(address) + offsetof(sockaddr_in, sin_addr);
  if (address->sa_family != AF_INET6 || size < sizeof(sockaddr_in6)) return nullptr;
  const uint8_t* const bytes =
      reinterpret_cast<const uint8_t*>(address) + offsetof(sockaddr_in6, sin6_addr);
  return std::memcmp(bytes, kMappedPrefix, kMappedSize) == 0 ? bytes + kMappedSize : nullptr;
}

static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));

}  // namespace

uint16_t number_of_name(const LaneMemory* lane, std::string_view name) {
  if (name.ends_with('.')) name.remove_suffix(1);
  const HostRow* const row = find_row(lane, [&](const HostRow& one) {
    const std::string_view own = name_of(one);
    return std::equal(own.begin(), own.end(), name.begin(), name.end(),
                      [](char a, char b) { return a == in_lower_case(b); });
  });
  return row == nullptr ? 0 : row->number;
}

uint16_t number_of_address(const sockaddr* address, socklen_t size) {
  const uint8_t* const ip = ip4_in(address, size);
  if (ip == nullptr || std::memcmp(ip, kHostNetwork, sizeof kHostNetwork) != 0) return 0;
  return static_cast<uint16_t>(ip[2] << 8 | ip[3]);
}

uint16_t port_of_address(const sockaddr* address) {
  in_port_t port;
  std::memcpy(&port, reinterpret_cast<const uint8_t*>(address) + offsetof(sockaddr_in, sin_port),
              sizeof port);
  return ntohs(port);
}

const HostRow* find_host(const LaneMemory* lane, uint16_t number, uint16_t port) {
  const HostRow* const exact =
      find_row(lane, [&](const HostRow& row) { return row.number == number && row.port == port; });
  if (exact != nullptr) return exact;
  return find_row(lane, [&](const HostRow& row) { return row.number == number && row.port == 0; });
}

const HostRow* find_any_port(const LaneMemory* lane, uint16_t number) {
  return find_row(lane, [&](const HostRow& row) { return row.number == number; });
}

void write_address_text(uint16_t number, size_t name_size, char (&out)[kAddressTextSize]) {
  write_long_address(uint32_t{kHostNetwork[0]} << 24 | uint32_t{kHostNetwork[1]} << 16 | number,
                     name_size, out);
}

void write_long_address(uint32_t address, size_t name_size, char (&out)[kAddressTextSize]) {
  constexpr size_t kDigits = 12;  // a zero, which says that the base is 8, and 11 digits of 3 bits
  const size_t size = std::clamp(name_size, kDigits, sizeof out - 1);
  for (size_t at = size; at > 0; address >>= 3) out[--at] = static_cast<char>('0' + (address & 7));
  out[size] = '\0';
}

void lead_address(sockaddr* address, const uint8_t (&to)[4], uint16_t port) {
  auto* const bytes = reinterpret_cast<uint8_t*>(address);
  const in_port_t in_network_order = htons(port);
  std::memcpy(bytes + offsetof(sockaddr_in, sin_port), &in_network_order, sizeof in_network_order);
  std::memcpy(
      bytes + (address->sa_family == AF_INET6 ? offsetof(sockaddr_in6, sin6_addr) + kMappedSize
                                              : offsetof(sockaddr_in, sin_addr)),
      to, sizeof to);
}

}  // namespace filibuster::preload
