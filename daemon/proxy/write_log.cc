#include "daemon/proxy/write_log.h"

#include <algorithm>

namespace filibuster::proxy {
namespace {

// How far `to` is behind `from` in a stream whose positions wrap; negative: before it.
int32_t distance(uint32_t from, uint32_t to) {
  return static_cast<int32_t>(to - from);
}

}  // namespace

void WriteLog::add(uint32_t position, uint32_t size, const Writer& writer) {
  auto at = calls_.end();
  while (at != calls_.begin() && distance(position, std::prev(at)->position) > 0) --at;
  // A call of which nothing was taken is told again.
  if (at != calls_.begin() && std::prev(at)->position == position) {
    *std::prev(at) = {position, size, writer};
    return;
  }
  if (calls_.size() < kMost) calls_.insert(at, {position, size, writer});
}

std::vector<WriteLog::Piece> WriteLog::take(uint32_t at, size_t size) {
  std::vector<Piece> pieces;
  const auto put = [&pieces](size_t count, const Writer& writer) {
    if (!pieces.empty() && pieces.back().writer == writer) {
      pieces.back().size += count;
    } else {
      pieces.push_back({count, writer});
    }
  };
  const uint32_t end = at + static_cast<uint32_t>(size);
  size_t call = 0;  // of calls_, the first that begins behind `begin`
  for (uint32_t begin = at; begin != end;) {
    while (call < calls_.size() && distance(calls_[call].position, begin) >= 0) ++call;
    uint32_t next = end;
    if (call < calls_.size() && distance(calls_[call].position, end) > 0)
      next = calls_[call].position;
    Writer writer;
    if (call > 0) {
      const Call& last = calls_[call - 1];
      const auto behind = static_cast<uint32_t>(distance(last.position, begin));
      if (last.size == 0 || behind < last.size) {
        writer = last.writer;
        if (last.size != 0) next = begin + std::min(next - begin, last.size - behind);
      }
    }
    put(next - begin, writer);
    begin = next;
  }
  // The last call may have more bytes to come.
  while (calls_.size() > 1 && distance(calls_[1].position, end) >= 0) calls_.pop_front();
  if (!calls_.empty() && calls_.front().size != 0 &&
      distance(calls_.front().position + calls_.front().size, end) >= 0)
    calls_.pop_front();
  return pieces;
}

}  // namespace filibuster::proxy
