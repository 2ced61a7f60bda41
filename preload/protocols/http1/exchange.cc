#include "preload/protocols/http1/exchange.h"

#include <new>

#include "preload/os/pool.h"
#include "preload/rpc/fields.h"
#include "preload/stream/connection.h"

namespace filibuster::preload {
namespace {

// The pool has room for one exchange on each connection that is open at a time.
Pool<Exchange, 64, 1024> g_exchanges;

void end_exchange(Connection& c, Exchange* x) {
  if (c.role == Role::kServer) {
    if (x->incoming != nullptr) incoming_end(x->incoming, x->status);
  } else if (x->call.active) {
    x->finished.rpc = x->call.rpc;
    if (x->changed) x->finished.injected = c.elapsed.load(std::memory_order_relaxed) ? 2 : 1;
    x->finished.body_sample = {x->sample, x->sample_size};
    if (x->fields != nullptr)
      report_response_fields(x->call.rpc, x->call.generation, x->call.execution, *x->fields);
    outgoing_end(&x->call, x->finished);
  }
  end_fields(x->fields);
  g_exchanges.give(x);
}

}  // namespace

Exchange* make_exchange() {
  Exchange* memory = g_exchanges.take();
  // Written without (), so that members without an initial value are not zeroed: that would be a
  // kilobyte for each request.
  return memory == nullptr ? nullptr : new (memory) Exchange;
}

void finish_half(Connection& c, Exchange* x, ExchangeHalf half) {
  // Each half is marked once, by the thread that follows it. If the other half is done already, no
  // other thread uses the exchange.
  constexpr uint8_t kBoth = kRequestHalf | kResponseHalf;
  if ((x->halves.load(std::memory_order_acquire) | half) == kBoth ||
      (x->halves.fetch_or(half, std::memory_order_acq_rel) | half) == kBoth) {
    end_exchange(c, x);
  }
}

}  // namespace filibuster::preload
