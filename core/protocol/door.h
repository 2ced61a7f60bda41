// The name of the socket at which processes of other users register (control_page.h): an abstract one, which needs no
// path that they could enter. Its number is random, so that nobody can take the name before the daemon.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>
#include <cstring>
#include <string_view>

namespace filibuster {

// Returns the size of the address.
inline socklen_t door_address(uint64_t door, sockaddr_un* out) {
  constexpr std::string_view kName = "filibuster-door-";
  constexpr char kDigits[] = "0123456789abcdef";
  std::memset(out, 0, sizeof *out);
  out->sun_family = AF_UNIX;
  char* at = out->sun_path + 1;  // a zero in front makes it abstract (unix(7))
  std::memcpy(at, kName.data(), kName.size());
  at += kName.size();
  for (int shift = 60; shift >= 0; shift -= 4) *at++ = kDigits[door >> shift & 15];
  return static_cast<socklen_t>(at - reinterpret_cast<char*>(out));
}

}  // namespace filibuster
