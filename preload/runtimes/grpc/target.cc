#include "preload/runtimes/grpc/target.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <atomic>
#include <charconv>
#include <cstddef>
#include <cstring>

#include "core/hash.h"
#include "preload/protocols/http2/plain_peers.h"

namespace filibuster::preload::grpc {
namespace {

bool take(std::string_view* text, std::string_view prefix) {
  if (!text->starts_with(prefix)) return false;
  text->remove_prefix(prefix.size());
  return true;
}

template <typename Address>
bool is_plain(const Address& address, size_t size = sizeof(Address)) {
  return is_plain_peer(reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(size));
}

bool is_plain_unix(std::string_view path, bool abstract) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const size_t at = abstract ? 1 : 0;
  if (path.empty() || path.size() + at >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path + at, path.data(), path.size());
  return is_plain(address, offsetof(sockaddr_un, sun_path) + at + path.size());
}

// "host:port", "[v6]:port"; the port 443 may be left out.
bool is_plain_host(std::string_view text) {
  uint16_t port = 443;
  std::string_view host = text;
  const size_t bracket = text.rfind(']');
  const size_t colon = text.rfind(':');
  const bool bare_v6 = bracket == std::string_view::npos && colon != text.find(':');
  if (colon != std::string_view::npos && !bare_v6 &&
      (bracket == std::string_view::npos || colon > bracket)) {
    const std::string_view digits = text.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (error != std::errc() || end != digits.data() + digits.size()) return false;
    host = text.substr(0, colon);
  }
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  char name[INET6_ADDRSTRLEN];
  if (host == "localhost") host = "127.0.0.1";
  if (host.empty() || host.size() >= sizeof name) return !host.empty() && is_plain_port(port);
  std::memcpy(name, host.data(), host.size());
  name[host.size()] = '\0';
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  if (inet_pton(AF_INET, name, &v4.sin_addr) == 1) return is_plain(v4);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  if (inet_pton(AF_INET6, name, &v6.sin6_addr) == 1) return is_plain(v6);
  return is_plain_port(port);
}

bool is_known(std::string_view target) {
  if (take(&target, "unix-abstract:")) return is_plain_unix(target, true);
  if (take(&target, "unix:")) {
    take(&target, "//");
    return is_plain_unix(target, false);
  }
  if (take(&target, "dns:") && take(&target, "//")) {
    const size_t authority = target.find('/');
    target.remove_prefix(authority == std::string_view::npos ? 0 : authority + 1);
  }
  // Of a list of addresses the first is enough: all lead to one service.
  if (take(&target, "ipv4:") || take(&target, "ipv6:")) target = target.substr(0, target.find(','));
  return is_plain_host(target);
}

// Targets that were not known when first asked for: a hash and the generation in one number.
constexpr size_t kUnknown = 256;
constinit std::atomic<uint64_t> g_unknown[kUnknown] = {};

}  // namespace

bool is_plain_target(std::string_view target, uint64_t generation) {
  const Hash128 hash = hash_text(target);
  const uint64_t key = (hash.lo ^ generation * 0x9E3779B97F4A7C15ull) | 1;
  std::atomic<uint64_t>& unknown = g_unknown[hash.hi % kUnknown];
  if (unknown.load(std::memory_order_relaxed) == key) return false;
  if (is_known(target)) return true;
  unknown.store(key, std::memory_order_relaxed);
  return false;
}

}  // namespace filibuster::preload::grpc
