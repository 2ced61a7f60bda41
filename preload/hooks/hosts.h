// Names that lead to services of this process's lane, whichever ports these have there: "redis" is answered with an address
// that stands for it, and a connect to that address goes to the service.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>

#include "preload/session/host_table.h"

namespace filibuster::preload {

// Which name a program asks for. Nothing of it is on the heap. May be called before there is any socket.
class AskedName {
 public:
  explicit AskedName(const char* name);
  // It leads to a service.
  explicit operator bool() const { return address_[0] != '\0'; }
  // The address that stands for it, for functions that take numeric addresses.
  const char* address() const { return address_; }
  // Writes the name in the place of a copy of address(); nullptr is allowed.
  void write_over(char* copy) const;

 private:
  char name_[sizeof(HostRow::name) + 1];
  char address_[kAddressTextSize];
};

// The address to which a call with `address` really goes. `fd` is the socket of the call: only streams are led.
class LedAddress {
 public:
  LedAddress(int fd, const void* address, socklen_t size);
  LedAddress(const LedAddress&) = delete;
  bool is_led() const { return given_ != get(); }
  const sockaddr* get() const { return to_; }

 private:
  const sockaddr* given_;
  const sockaddr* to_;
  sockaddr_in6 led_;  // or a sockaddr_in
};

}  // namespace filibuster::preload
