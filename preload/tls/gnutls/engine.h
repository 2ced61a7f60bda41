// A session of GnuTLS for the pump: its transport is memory.
#pragma once

#include "preload/tls/gnutls/api.h"
#include "preload/tls/pump.h"

namespace filibuster::preload::gnutls {

// From now on the session belongs to a pump, which takes `real` and `plain` over, descriptors of ours. nullptr:
// there is no thread or no memory. Else what stop_pump() is to be given before the session ends.
Engine* pump_session(const Api& api, SessionPtr session, int real, int plain);

}  // namespace filibuster::preload::gnutls
