// A session of OpenSSL for the pump: its BIOs are memory.
#pragma once

#include <string_view>

#include "preload/tls/openssl/api.h"

namespace filibuster::preload::openssl {

// What waits in the BIO that the SSL writes to.
struct Output {
  Bio* source = nullptr;  // that it is read from; nullptr: it cannot be taken out
  size_t sent = 0;        // so many of its first bytes were sent already
};

// From now on the SSL belongs to a pump, which takes `real` and `plain` over, descriptors of ours. What the SSL's
// BIOs hold goes first, and `received` behind it. The caller keeps them, and the SSL gets others. False: there is no thread or no memory,
// and the SSL has its BIOs.
bool pump_ssl(const Api& api, Ssl* ssl, Output output, std::string_view received, int real,
              int plain);

}  // namespace filibuster::preload::openssl
