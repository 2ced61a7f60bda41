#include "daemon/agents/target_table.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace filibuster {
namespace {

using Bytes16 = std::array<uint8_t, 16>;
constexpr Bytes16 kAny{};
constexpr Bytes16 kLoopback6{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
constexpr uint8_t kMappedPrefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

constexpr uint8_t kLocalhost[4] = {127, 0, 0, 1};

// Loopback and wildcard addresses are one kind, IPv4 in IPv6 is IPv4 (lane_memory.h).
void set_ip4(Target128* target, const uint8_t* bytes) {
  const bool any = std::all_of(bytes, bytes + 4, [](uint8_t b) { return b == 0; });
  target->kind = any || bytes[0] == 127 ? TargetKind::kLoopback : TargetKind::kIpv4;
  std::memcpy(target->address, bytes, 4);
}

void set_ip6(Target128* target, const uint8_t* bytes) {
  if (std::memcmp(bytes, kMappedPrefix, sizeof kMappedPrefix) == 0) {
    set_ip4(target, bytes + 12);
  } else if (std::memcmp(bytes, kAny.data(), 16) == 0) {
    target->kind = TargetKind::kLoopback;
  } else if (std::memcmp(bytes, kLoopback6.data(), 16) == 0) {
    set_ip4(target, kLocalhost);
  } else {
    target->kind = TargetKind::kIpv6;
    std::memcpy(target->address, bytes, 16);
  }
}

void set_unix(Target128* target, std::string_view path) {
  const Hash128 hash = hash_text(path);
  static_assert(sizeof hash == sizeof target->address);
  target->kind = TargetKind::kUnix;
  std::memcpy(target->address, &hash, sizeof hash);
}

bool set_host(Target128* target, const std::string& host) {
  uint8_t bytes[16];
  if (host.empty()) {
    target->kind = TargetKind::kLoopback;  // with an address of zeros: any loopback address
  } else if (host == "localhost") {
    set_ip4(target, kLocalhost);
  } else if (::inet_pton(AF_INET, host.c_str(), bytes) == 1) {
    set_ip4(target, bytes);
  } else if (::inet_pton(AF_INET6, host.c_str(), bytes) == 1) {
    set_ip6(target, bytes);
  } else {
    return false;
  }
  return true;
}

void set_service(Target128* target, std::string_view service) {
  const size_t size = std::min(service.size(), sizeof target->service);
  std::memset(target->service, 0, sizeof target->service);
  std::memcpy(target->service, service.data(), size);
  target->service_size = static_cast<uint8_t>(size);
}

std::string_view service_of(const Target128& target) {
  return {target.service, target.service_size};
}

bool same_address(const Target128& a, const Target128& b) {
  return a.kind == b.kind && a.port == b.port &&
         std::memcmp(a.address, b.address, sizeof a.address) == 0;
}

std::string address_text(const Target128& target) {
  if (target.kind == TargetKind::kUnix) return "a unix socket";
  std::string port = "port " + std::to_string(target.port);
  if (std::memcmp(target.address, kAny.data(), 16) == 0) return port;
  char text[INET6_ADDRSTRLEN];
  const int family = target.kind == TargetKind::kIpv6 ? AF_INET6 : AF_INET;
  return port + " of " + ::inet_ntop(family, target.address, text, sizeof text);
}

// Is it 127.0.0.1? A configured service without a `host` means that address, too.
bool is_localhost(const Target128& target) {
  return target.kind == TargetKind::kLoopback &&
         std::memcmp(target.address, kLocalhost, sizeof kLocalhost) == 0;
}

}  // namespace

TargetTable::Row* TargetTable::find(const Target128& address) {
  for (Row& row : rows_) {
    if (same_address(row.target, address)) return &row;
  }
  return nullptr;
}

bool TargetTable::make_room() {
  if (rows_.size() < kMaxTargets) return true;
  const auto stale = std::find_if(rows_.begin(), rows_.end(),
                                  [](const Row& row) { return !row.configured && row.agent == 0; });
  if (stale == rows_.end()) return false;
  rows_.erase(stale);
  return true;
}

bool TargetTable::configure(const TargetRow& row, std::string* note) {
  Target128 target{};
  target.flags = row.flags;
  set_service(&target, row.service);
  if (!row.unix_path.empty()) {
    set_unix(&target, row.unix_path);
  } else {
    target.port = row.port;
    if (!set_host(&target, row.host)) {
      *note = row.service + ": " + row.host +
              " is not a numeric address; RPCs to it are named by the Host field of the request";
      return false;
    }
  }
  if (Row* known = find(target)) {
    const bool changed =
        service_of(known->target) != service_of(target) || known->target.flags != target.flags;
    if (known->configured && service_of(known->target) != service_of(target)) {
      *note = "two configured services have " + address_text(target) + ": " +
              std::string(service_of(known->target)) + " and " + row.service +
              "; the last one is used";
    }
    known->target = target;
    known->configured = true;
    return changed;
  }
  if (!make_room()) {
    *note = "the table of services is full (" + std::to_string(kMaxTargets) +
            " addresses): " + row.service + " is not in it";
    return false;
  }
  rows_.push_back({target, true, 0});
  return true;
}

bool TargetTable::report(const Listen& listen, uint32_t agent, const std::string& service,
                         std::string* note) {
  Target128 target{};
  target.flags = kTargetInApplication;
  set_service(&target, service);
  target.port = listen.port;
  switch (static_cast<TargetKind>(listen.kind)) {
    case TargetKind::kLoopback:
    case TargetKind::kIpv4:
      set_ip4(&target, listen.address);
      break;
    case TargetKind::kIpv6:
      set_ip6(&target, listen.address);
      break;
    case TargetKind::kUnix:
      target.port = 0;
      set_unix(&target, listen.path);
      // Where the agent sends its own hash of the path, that one is used: agents look targets up by it.
      if (std::memcmp(listen.address, kAny.data(), 16) != 0) {
        std::memcpy(target.address, listen.address, 16);
      }
      break;
    case TargetKind::kEmpty:
    default:
      *note = service + ": a listening socket of unknown kind was reported";
      return false;
  }
  Row* known = find(target);
  if (known == nullptr && is_localhost(target)) {
    Target128 anywhere = target;
    std::memset(anywhere.address, 0, sizeof anywhere.address);
    known = find(anywhere);
    if (known != nullptr && !known->configured) known = nullptr;
  }
  if (known != nullptr) {
    if (known->configured) {
      const bool named_differently = service_of(known->target) != service_of(target);
      if (named_differently) {
        *note = address_text(target) + " is configured as " +
                std::string(service_of(known->target)) + " but " + service + " listens there";
      }
      return false;
    }
    const bool changed = service_of(known->target) != service_of(target);
    if (changed) {
      *note = "two services listen at " + address_text(target) + ": " +
              std::string(service_of(known->target)) + ", then " + service +
              "; the last one is used";
    }
    known->target = target;
    known->agent = agent;
    return changed;
  }
  if (!make_room()) {
    *note = "the table of services is full (" + std::to_string(kMaxTargets) +
            " addresses): " + service + " at " + address_text(target) + " is not in it";
    return false;
  }
  rows_.push_back({target, false, agent});
  return true;
}

void TargetTable::agent_ended(uint32_t agent) {
  for (Row& row : rows_) {
    if (row.agent == agent) row.agent = 0;
  }
}

std::vector<Target128> TargetTable::rows() const {
  std::vector<Target128> out;
  out.reserve(rows_.size());
  for (const Row& row : rows_) out.push_back(row.target);
  return out;
}

}  // namespace filibuster
