#include "preload/os/address.h"

#include <netinet/in.h>
#include <sys/un.h>

#include <cstring>

namespace filibuster::preload {
namespace {

class Text {
 public:
  Text(char* out, size_t capacity) : out_(out), capacity_(capacity) {}
  void put(char c) {
    if (size_ < capacity_) out_[size_++] = c;
  }
  void put(std::string_view text) {
    for (char c : text) put(c);
  }
  void put_number(uint32_t value, uint32_t base) {
    char digits[10];
    int n = 0;
    do {
      digits[n++] = "0123456789abcdef"[value % base];
      value /= base;
    } while (value != 0);
    while (n > 0) put(digits[--n]);
  }
  size_t size() const { return size_; }

 private:
  char* out_;
  size_t capacity_;
  size_t size_ = 0;
};

bool is_loopback_or_wildcard(const uint8_t* v4) {
  return v4[0] == 127 || (v4[0] == 0 && v4[1] == 0 && v4[2] == 0 && v4[3] == 0);
}

constexpr uint8_t kLocalhost[4] = {127, 0, 0, 1};

constexpr uint8_t kMappedPrefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

// An IP address. An IPv4 address that is mapped into IPv6 is read as the IPv4 address.
struct Ip {
  bool valid = false;
  bool v6 = false;
  uint16_t port = 0;
  uint8_t bytes[16] = {};
};
Ip read_ip(const sockaddr* address, socklen_t size) {
  Ip ip;
  if (address == nullptr || size < sizeof address->sa_family) return ip;
  if (address->sa_family == AF_INET && size >= sizeof(sockaddr_in)) {
    sockaddr_in in;
    std::memcpy(&in, address, sizeof in);
    ip.valid = true;
    ip.port = ntohs(in.sin_port);
    std::memcpy(ip.bytes, &in.sin_addr, 4);
  } else if (address->sa_family == AF_INET6 && size >= sizeof(sockaddr_in6)) {
    sockaddr_in6 in;
    std::memcpy(&in, address, sizeof in);
    ip.valid = true;
    ip.port = ntohs(in.sin6_port);
    const auto* b = reinterpret_cast<const uint8_t*>(&in.sin6_addr);
    if (std::memcmp(b, kMappedPrefix, sizeof kMappedPrefix) == 0) {
      std::memcpy(ip.bytes, b + 12, 4);
    } else {
      ip.v6 = true;
      std::memcpy(ip.bytes, b, 16);
    }
  }
  return ip;
}

// The path of a Unix address, an abstract name with '@' for its leading zero byte.
std::string_view unix_path(const sockaddr* address, socklen_t size, char (&out)[108]) {
  if (address == nullptr || size < sizeof address->sa_family || address->sa_family != AF_UNIX)
    return {};
  constexpr size_t kOffset = offsetof(sockaddr_un, sun_path);
  size_t n = size > kOffset ? size - kOffset : 0;
  if (n > sizeof out) n = sizeof out;
  std::memcpy(out, reinterpret_cast<const char*>(address) + kOffset, n);
  if (n > 0 && out[0] == '\0') {
    out[0] = '@';
  } else {
    n = strnlen(out, n);
  }
  return {out, n};
}

}  // namespace

Target128 canonical_address(const sockaddr* address, socklen_t size) {
  Target128 target{};
  const Ip ip = read_ip(address, size);
  if (ip.valid) {
    target.port = ip.port;
    if (!ip.v6) {
      target.kind = is_loopback_or_wildcard(ip.bytes) ? TargetKind::kLoopback : TargetKind::kIpv4;
      std::memcpy(target.address, ip.bytes, 4);
      return target;
    }
    bool zeros = true;
    for (int i = 0; i < 15; ++i) zeros = zeros && ip.bytes[i] == 0;
    if (zeros && ip.bytes[15] <= 1) {
      target.kind = TargetKind::kLoopback;
      if (ip.bytes[15] == 1) std::memcpy(target.address, kLocalhost, sizeof kLocalhost);
    } else {
      target.kind = TargetKind::kIpv6;
      std::memcpy(target.address, ip.bytes, 16);
    }
    return target;
  }
  char buffer[108];
  const std::string_view path = unix_path(address, size, buffer);
  if (!path.empty()) {
    target.kind = TargetKind::kUnix;
    const Hash128 hash = hash_text(path);
    std::memcpy(target.address, &hash, sizeof hash);
  }
  return target;
}

Hash128 address_identity(const sockaddr* address, socklen_t size) {
  const Ip ip = read_ip(address, size);
  if (ip.valid) {
    uint8_t bytes[17];
    bytes[0] = ip.v6 ? 6 : 4;
    std::memcpy(bytes + 1, ip.bytes, 16);
    return hash_bytes(bytes, sizeof bytes);
  }
  char buffer[108];
  return hash_text(unix_path(address, size, buffer));
}

size_t write_address(const sockaddr* address, socklen_t size, char* out, size_t capacity) {
  Text text(out, capacity);
  const Ip ip = read_ip(address, size);
  if (!ip.valid) {
    char buffer[108];
    const std::string_view path = unix_path(address, size, buffer);
    if (!path.empty() || (address != nullptr && address->sa_family == AF_UNIX)) {
      text.put("unix:");
      text.put(path);
    }
    return text.size();
  }
  if (!ip.v6) {
    for (int i = 0; i < 4; ++i) {
      if (i > 0) text.put('.');
      text.put_number(ip.bytes[i], 10);
    }
  } else {
    // RFC 5952 §4.2: the longest run of two or more zero groups becomes "::".
    int best = -1, best_size = 1;
    for (int i = 0; i < 8; ++i) {
      int n = 0;
      while (i + n < 8 && ip.bytes[2 * (i + n)] == 0 && ip.bytes[2 * (i + n) + 1] == 0) ++n;
      if (n > best_size) best = i, best_size = n;
    }
    text.put('[');
    for (int i = 0; i < 8; ++i) {
      if (i == best) {
        text.put("::");
        i += best_size - 1;
        continue;
      }
      if (i > 0 && i != best + best_size) text.put(':');
      text.put_number(static_cast<uint32_t>(ip.bytes[2 * i] << 8 | ip.bytes[2 * i + 1]), 16);
    }
    text.put(']');
  }
  text.put(':');
  text.put_number(ip.port, 10);
  return text.size();
}

std::string_view without_port(std::string_view peer) {
  if (peer.starts_with("unix:")) return peer;
  const size_t colon = peer.rfind(':');
  return colon == std::string_view::npos ? peer : peer.substr(0, colon);
}

}  // namespace filibuster::preload
