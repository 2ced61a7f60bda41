#include "daemon/wire/http_message.h"

#include <algorithm>

namespace filibuster::wire {

void add_to_body(HttpMessage* to, const char* data, size_t size, uint64_t time_ns) {
  const size_t kept = std::min(size, kMostMessageBody - to->body.size());
  to->too_large = to->too_large || kept < size;
  to->body.append(data, kept);
  if (kept == 0) return;
  if (to->pieces.empty() || to->pieces.back().time_ns != time_ns)
    to->pieces.push_back({0, time_ns});
  to->pieces.back().size += kept;
}

}  // namespace filibuster::wire
