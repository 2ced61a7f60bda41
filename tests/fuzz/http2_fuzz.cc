// One byte of options, four of split, two of length, then what the client sends (of that length)
// and what the server sends. The frame reader and the connection view must survive it, stay within
// their feeds and their bounds, and report the same for the whole as for any split; so must what
// gives whole frames only.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "core/http2/whole_frames.h"
#include "tests/unit/core/http2/connection_trace.h"
#include "tests/unit/core/http2/frame_trace.h"
#include "tests/unit/core/http2/wire.h"

namespace {

using namespace filibuster::http2;

void demand(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", what);
  std::abort();
}

// Calls `feed` with pieces whose sizes follow from `seed`; 0: with the whole.
template <typename Feed>
void in_pieces(std::string_view bytes, uint32_t seed, Feed feed) {
  if (seed == 0) {
    feed(bytes);
    return;
  }
  while (!bytes.empty()) {
    seed = seed * 1664525 + 1013904223;
    const uint32_t random = seed >> 16;
    const size_t size = random % 4 == 0   ? 1
                        : random % 4 == 1 ? 1 + random / 4 % 12
                                          : 1 + random / 4 % 97;
    feed(bytes.substr(0, size));
    bytes.remove_prefix(size < bytes.size() ? size : bytes.size());
  }
}

void check_bounds(const FrameParser& parser) {
  demand(parser.hold_from() <= parser.position(), "what is held was fed");
  demand(parser.error() != Error::kNone ||
             parser.position() - parser.hold_from() <=
                 kMaxHeaderBlock + kFrameHeaderSize * (kMaxBlockFrames + 1),
         "what is held is bounded");
  demand(!parser.at_boundary() || parser.hold_from() == parser.position(),
         "at a boundary nothing is held");
}

struct Outcome {
  std::vector<std::string> frames[2], connection;
  Error errors[3];
  bool operator==(const Outcome&) const = default;
};

Outcome run(std::string_view up, std::string_view down, uint32_t seed) {
  Outcome o;
  for (Direction d : {Direction::kRequests, Direction::kResponses}) {
    const auto i = static_cast<size_t>(d);
    FrameTracer t(d);
    in_pieces(i == 0 ? up : down, seed, [&](std::string_view piece) {
      t.feed(piece);
      check_bounds(t.parser);
    });
    o.frames[i] = t.lines;
    o.errors[i] = t.parser.error();
    uint64_t from = 0;
    for (const HeaderBlock& b : t.blocks) {
      demand(b.start >= from && b.start <= b.last_start && b.last_start < b.fragment_end &&
                 b.fragment_end <= b.end && b.end == b.last_start + b.last.size(),
             "a block stands where it was said to");
      demand(b.last.has(kFlagEndHeaders) && b.frames <= kMaxBlockFrames, "the last frame ends it");
      from = b.end;
    }
  }
  ConnectionTracer c(seed % 2 == 0 ? Side::kClient : Side::kServer);
  in_pieces(up, seed, [&](std::string_view piece) { c.requests(piece); });
  in_pieces(down, seed, [&](std::string_view piece) { c.responses(piece); });
  size_t open = 0;
  c.view->for_each_stream([&](Stream& s) {
    demand(c.view->find(s.id) == &s, "an open stream is found");
    ++open;
  });
  demand(open == c.view->open_streams() && open <= kMaxStreams, "open streams are counted");
  o.connection = c.lines;
  o.errors[2] = c.view->error();
  return o;
}

// Its reader never has a part of anything but DATA.
void check_whole_frames(std::string_view down, uint32_t seed) {
  WholeFrames whole;
  FrameTracer t(Direction::kResponses);
  size_t fed = 0, given = 0;
  in_pieces(down, seed, [&](std::string_view piece) {
    fed += piece.size();
    const std::vector<char> copy(piece.begin(), piece.end());
    whole.feed(copy.data(), copy.size(), [&](const char* data, size_t size) {
      demand(down.substr(given, size) == std::string_view(data, size), "given as it came");
      given += size;
      t.feed({data, size});
    });
    demand(down.substr(given, fed - given) == whole.kept(), "what is not given is kept");
    if (whole.gives_as_it_comes() || t.parser.error() != Error::kNone) return;
    const FrameHeader* half = t.parser.unfinished_frame();
    demand(t.parser.hold_from() == t.parser.position() &&
               (half == nullptr || half->type == FrameType::kData),
           "the reader has whole frames, but for DATA");
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 7) return 0;
  const uint8_t options = data[0];
  const uint32_t seed = 1u | data[1] | data[2] << 8 | data[3] << 16 | uint32_t{data[4]} << 24;
  const size_t length = data[5] | data[6] << 8;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 7, size - 7);
  std::string up(rest.substr(0, length));
  std::string down(rest.substr(up.size()));
  if (options & 1) up = client_start() + up;
  if (options & 2) down = settings() + settings_ack() + down;

  const Outcome whole = run(up, down, 0);
  demand(whole == run(up, down, seed), "same for every split");
  check_whole_frames(down, seed);
  if (options & 4) {  // an upgrade; the value of HTTP2-Settings is what the server sends
    ConnectionTracer c;
    if (c.view->begin_upgraded(down) != nullptr) c.requests(up);
  }
  return 0;
}
