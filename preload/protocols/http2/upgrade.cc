// Upgrade: h2c (RFC 7540 §3.2). A connection that began with HTTP/1.1 goes on with HTTP/2 after a 101, and the
// answer to the request that asked for the upgrade comes on stream 1.
#include <cstring>

#include "preload/protocols/http1/http1.h"
#include "preload/protocols/http2/http2.h"
#include "preload/protocols/http2/http2_connection.h"

namespace filibuster::preload {
namespace {

// The caller owns both flows.
bool begin_upgraded(Connection& c, Http1& before, Exchange* x) {
  if (!c.state.is_followed() || !before.exchanges.empty() || !c.wire.is_still() ||
      (x->halves.load(std::memory_order_acquire) & kRequestHalf) == 0) {
    return false;
  }
  // java.net.http begins this way, and fails its requests in flight at a GOAWAY.
  Http2Connection* h = make_http2(c, Http2Client::kAbrupt);
  if (h == nullptr) return false;
  c.followed.store(h, std::memory_order_release);
  before.give_back_texts();
  if (!h->lock.acquire()) return false;
  h->origin = c.wire.accepted;
  http2::Stream* stream = h->view.begin_upgraded({before.upgrade_settings, before.upgrade_size});
  if (stream != nullptr) adopt_exchange(*h, *stream, x);
  h->lock.release();
  if (stream == nullptr) give_up_http2(c, h->view.error());
  return stream != nullptr;
}

}  // namespace

void note_upgrade(Http1& h, const http1::MessageHead& head) {
  h.upgrade_size = 0;
  if (!head.upgrade_h2c || head.http2_settings.size() > sizeof h.upgrade_settings) return;
  std::memcpy(h.upgrade_settings, head.http2_settings.data(), head.http2_settings.size());
  h.upgrade_size = static_cast<uint8_t>(head.http2_settings.size());
}

bool upgrade_to_http2(Connection& c, Http1& h, Exchange* x) {
  if (h.upgrade_size == 0 || !c.request_flow.acquire()) return false;
  const bool upgraded = begin_upgraded(c, h, x);
  c.request_flow.release();
  return upgraded;
}

}  // namespace filibuster::preload
