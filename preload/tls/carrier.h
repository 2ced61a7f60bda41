// Encrypted bytes on a descriptor. They pass unread. Only the first ones are looked at: they tell by which
// session of a TLS library the connection is used (claims.h). What no library claims that we follow is
// reported as encrypted.
#pragma once

#include <string_view>

#include "preload/stream/protocol.h"

namespace filibuster::preload {

// ProtocolRow.
// A connection that turns to TLS on its way belongs to the carrier from its first byte.
Recognised is_tls_of_client(std::string_view first);
Recognised is_tls_of_server(std::string_view first);
void begin_carrier(Connection& c, Pieces pieces, size_t size);
// These first bytes of a client are its ClientHello: where the target has no name, it gets that of SNI.
void name_by_hello(Connection& c, Pieces pieces, size_t size);
Joined joins_tls(std::string_view first, NotInterposedReason* reason);

// The connection ends, or the process. If it was encrypted by nobody that we follow, the report says so.
void report_unclaimed(Connection& c);

}  // namespace filibuster::preload
