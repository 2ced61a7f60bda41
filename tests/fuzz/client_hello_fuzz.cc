// The first bytes of a connection that may become encrypted: nothing of them may lead beyond their end.
#include <cstdint>
#include <string_view>

#include "core/tls/client_hello.h"
#include "core/tls/prelude.h"

using namespace filibuster;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view first(reinterpret_cast<const char*>(data), size);
  tls::ClientRandom random{};
  const tls::Hello hello = tls::sniff_client_hello(first, &random);
  const std::string_view name = tls::server_name(first);
  if (!name.empty() && hello != tls::Hello::kYes) __builtin_trap();
  if (!name.empty() &&
      (name.data() < first.data() || name.data() + name.size() > first.data() + size))
    __builtin_trap();
  const tls::Authority to = tls::connect_authority(first);
  if (!to.host.empty() && tls::sniff_prelude(first) != tls::Prelude::kConnect) __builtin_trap();
  // More bytes never take back what is certain.
  for (size_t part = 0; part < size && part < 64; ++part) {
    const tls::Prelude early = tls::sniff_prelude(first.substr(0, part));
    if (early != tls::Prelude::kNeedMore && early != tls::sniff_prelude(first)) __builtin_trap();
  }
  (void)tls::sniff_server(first);
  return 0;
}
