// What a client sends before its ClientHello where a connection turns to TLS on its way: the CONNECT request to a
// proxy (RFC 9110 §9.3.6), the SSLRequest of PostgreSQL (its documentation, chapter "Message Formats").
#pragma once

#include <cstdint>
#include <string_view>

namespace filibuster::tls {

enum class Prelude : uint8_t { kNone, kNeedMore, kConnect, kPostgres };
// Which one do these first bytes of a client begin?
Prelude sniff_prelude(std::string_view first);

// The target of a CONNECT request.
struct Authority {
  std::string_view host;  // without the brackets of an IPv6 address; "": the bytes do not tell
  uint16_t port = 0;
};
Authority connect_authority(std::string_view first);

}  // namespace filibuster::tls
