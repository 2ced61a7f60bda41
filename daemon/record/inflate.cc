#include "daemon/record/inflate.h"

#include <zlib.h>

#include <array>

namespace filibuster::record {
namespace {

std::optional<std::string> inflated_as(std::string_view bytes, int window_bits) {
  z_stream stream{};
  if (::inflateInit2(&stream, window_bits) != Z_OK) return std::nullopt;
  // zlib does not write there.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string out;
  std::array<char, 16 * 1024> part{};
  int state = Z_OK;
  while (state == Z_OK && out.size() < kMostInflated) {
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = part.size();
    state = ::inflate(&stream, Z_NO_FLUSH);
    out.append(part.data(), part.size() - stream.avail_out);
    // A file of gzip may have several members.
    if (state == Z_STREAM_END && stream.avail_in > 0) state = ::inflateReset(&stream);
  }
  ::inflateEnd(&stream);
  const bool is_good = state == Z_STREAM_END || out.size() >= kMostInflated;
  return is_good ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace

std::optional<std::string> inflated(std::string_view bytes) {
  constexpr int kGzipOrZlib = 32 + MAX_WBITS, kRaw = -MAX_WBITS;
  auto out = inflated_as(bytes, kGzipOrZlib);
  return out ? out : inflated_as(bytes, kRaw);
}

}  // namespace filibuster::record
