// The protocols that are followed.
#include "preload/protocols/fastcgi/fastcgi.h"
#include "preload/protocols/http1/http1.h"
#include "preload/protocols/http2/http2.h"
#include "preload/protocols/http2/retirement.h"
#include "preload/protocols/redis/redis.h"
#include "preload/protocols/sealed/sealed.h"
#include "preload/stream/protocol.h"
#include "preload/tls/carrier.h"

namespace filibuster::preload {

std::span<const ProtocolRow> protocol_table() {
  static constexpr ProtocolRow kRows[] = {
      {"HTTP/2", is_http2_of_client, is_http2_of_server, begin_http2, nullptr, begin_retirement},
      {"TLS", is_tls_of_client, is_tls_of_server, begin_tls, joins_tls, nullptr},
      {"Redis", is_redis_of_client, nullptr, begin_redis, joins_redis, nullptr},
      {"FastCGI", is_fastcgi_of_client, nullptr, begin_fastcgi, joins_fastcgi, nullptr},
      {"HTTP/1", nullptr, nullptr, begin_http1, joins_http1, nullptr},
  };
  return kRows;
}

}  // namespace filibuster::preload
