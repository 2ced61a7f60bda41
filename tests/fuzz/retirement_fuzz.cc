// One byte of options, four of split, two of length, then what a client sends (of that length) and what
// its server sends. The walk over the client's frames must say the same for the whole as for any split,
// and no write goes by uncounted where it is not known whether it is a request.
// The server's acknowledgement, placed where an option says, must become a GOAWAY in any split, and
// every other byte must stay what it was.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "core/http2/frame_walk.h"
#include "core/http2/retirement.h"

namespace {

using namespace filibuster::http2;

constexpr uint64_t kOpaque = 0x0600080100000008;  // looks like the headers around it

void demand(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", what);
  std::abort();
}

// The sizes of the pieces follow from `seed`; 0: the whole.
std::vector<std::string> split(std::string_view bytes, uint32_t seed) {
  std::vector<std::string> out;
  while (!bytes.empty()) {
    seed = seed == 0 ? 0 : seed * 1664525 + 1013904223;
    const uint32_t random = seed >> 16;
    const size_t size = seed == 0         ? bytes.size()
                        : random % 4 == 0 ? 1
                        : random % 4 == 1 ? 1 + random / 4 % 12
                                          : 1 + random / 4 % 97;
    out.emplace_back(bytes.substr(0, size));
    bytes.remove_prefix(out.back().size());
  }
  return out;
}

void check_walk(std::string_view bytes, uint32_t seed, bool trusted) {
  FrameWalk whole, parts;
  if (trusted) whole.trust();
  if (trusted) parts.trust();
  whole.feed(bytes.data(), bytes.size());
  for (const std::string& piece : split(bytes, seed)) parts.feed(piece.data(), piece.size());
  demand(whole.valid() == parts.valid() && whole.at_boundary() == parts.at_boundary() &&
             whole.frames() == parts.frames() && whole.opened() == parts.opened(),
         "a walk does not depend on the split");
  demand(!whole.at_boundary() || whole.valid(), "nothing is at a boundary where nothing is known");
  demand(whole.opened() <= whole.frames(), "a request has a frame");
}

void check_search(std::string_view bytes, uint32_t seed) {
  BoundarySearch search;
  for (const std::string& write : split(bytes, seed)) {
    for (size_t at = 0; at < write.size();) {
      seed = seed * 1664525 + 1013904223;
      const size_t offered = write.size() - at;
      const size_t accepted =
          seed == 0 || (seed >> 16) % 2 != 0 ? offered : 1 + (seed >> 17) % offered;
      const iovec piece{const_cast<char*>(write.data()) + at, offered};
      const bool opens = search.opens_request(piece, offered);
      demand(!opens || search.found(), "a boundary is certain");
      const bool known = search.found();
      const uint64_t requests = search.sent(piece, accepted, offered);
      demand(known || requests != 0, "what is not known is counted");
      demand(!opens || accepted != offered || requests != 0, "what opens a request is one");
      at += accepted;
    }
  }
}

// What the client reads, in pieces; two pieces make one read where the seed says so.
// `*guessed`: the end of what there is had to be taken for what it looked like.
std::string read_all(std::string_view bytes, uint32_t seed, bool sees_ahead,
                     PingToGoaway::Seen* end, bool* guessed) {
  using Seen = PingToGoaway::Seen;
  PingToGoaway swap(kOpaque);
  std::string all;
  std::vector<std::string> pieces = split(bytes, seed);
  size_t at = 0;
  for (size_t i = 0; i < pieces.size();) {
    const size_t count = 1 + (seed + i) % 2;
    std::vector<iovec> read;
    size_t size = 0;
    for (size_t k = i; k < pieces.size() && k < i + count; ++k) {
      read.push_back({pieces[k].data(), pieces[k].size()});
      size += pieces[k].size();
    }
    at += size;
    const std::string before(pieces[i]);
    const std::string_view ahead = sees_ahead ? bytes.substr(at, kPingSize) : std::string_view();
    Seen seen = swap.pass({read.data(), read.size()}, size, ahead, false);
    if (seen == Seen::kUndecided) {
      demand(pieces[i] == before, "nothing is changed before it is known");
      *guessed = true;
      demand(ahead.size() < kPingSize, "with all that comes it is decided");
      seen = swap.pass({read.data(), read.size()}, size, ahead, true);
      demand(seen != Seen::kUndecided, "the last word");
    }
    if (seen != Seen::kNothing) *end = seen;
    for (size_t k = i; k < pieces.size() && k < i + count; ++k) all += pieces[k];
    i += count;
  }
  return all;
}

void check_swap(std::string_view bytes, uint32_t seed, uint8_t options) {
  using Seen = PingToGoaway::Seen;
  std::string ack(PingToGoaway(kOpaque).ping(), kPingSize);
  ack[4] = static_cast<char>(kFlagAck);
  const bool without = bytes.find(ack) == std::string_view::npos;
  Seen end = Seen::kNothing;
  bool guessed = false;
  const std::string untouched = read_all(bytes, seed, true, &end, &guessed);
  if (without && !guessed)
    demand(untouched == bytes && end == Seen::kNothing, "nothing is taken for the answer");

  const size_t place = bytes.empty() ? 0 : options % (bytes.size() + 1);
  std::string with(bytes);
  with.insert(place, ack);
  const size_t first = with.find(ack);
  end = Seen::kNothing;
  const std::string read = read_all(with, seed, true, &end, &guessed);
  demand(end == Seen::kGoaway || end == Seen::kIgnored, "the answer is found");
  const FrameHeader h = read_frame_header(read.data() + first);
  demand(h.length == 8 && h.flags == 0 && h.stream == 0 &&
             (h.type == FrameType::kGoaway) == (end == Seen::kGoaway),
         "it is a frame of the same length");
  std::string others = read;
  others.replace(first, kPingSize, ack);
  demand(others == with, "every other byte is what it was");
  // Whatever is looked at or not: the length stays.
  demand(read_all(with, seed, false, &end, &guessed).size() == with.size(),
         "no byte more, none less");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 7) return 0;
  const uint8_t options = data[0];
  uint32_t seed;
  std::memcpy(&seed, data + 1, sizeof seed);
  const size_t length = size_t{data[5]} | size_t{data[6]} << 8;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 7, size - 7);
  check_walk(bytes.substr(0, length), seed, options % 2 != 0);
  check_search(bytes.substr(0, length), seed);
  check_swap(bytes.substr(std::min(length, bytes.size())), seed, options / 2);
  fails_on_goaway(bytes);
  return 0;
}
