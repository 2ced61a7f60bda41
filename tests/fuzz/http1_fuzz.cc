// One byte of direction, methods and split, then a stream. The parser must survive it, stay within
// its feed, and report the same for the whole as for any split.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "core/rpc/header_field.h"
#include "tests/unit/core/http1_trace.h"

namespace {

using filibuster::http1::Direction;
using filibuster::http1::ParseState;
using filibuster::http1::Tracer;

struct Outcome {
  std::vector<filibuster::http1::TracedMessage> messages;
  ParseState fed, finished;
  uint64_t body_bytes;
};

// `seed` 0: in one feed. Otherwise in pieces whose sizes follow from it.
Outcome run(uint8_t first, std::string_view stream, uint32_t seed) {
  Tracer t(first & 1 ? Direction::kRequests : Direction::kResponses);
  if (first & 2) t.parser.expect_response_to("HEAD");
  if (first & 4) t.parser.expect_response_to("CONNECT");
  if (first & 8) t.parser.expect_response_to("GET");
  if (seed == 0) t.feed(stream);
  for (size_t at = 0; seed != 0 && at < stream.size();) {
    seed = seed * 1664525 + 1013904223;
    const uint32_t random = seed >> 16;
    const size_t size = random % 4 == 0   ? 1
                        : random % 4 == 1 ? 1 + random / 4 % 8
                                          : random / 4 % 97;
    const size_t left = stream.size() - at;
    const size_t piece = size < left ? size : left;
    t.feed(stream.substr(at, piece));
    at += piece;
  }
  Outcome o;
  o.fed = t.parser.state();
  o.body_bytes = t.parser.body_bytes();
  o.finished = t.parser.finish();
  o.messages = t.messages;
  if (o.fed != o.finished && !o.messages.empty()) o.messages.back().end = 0;
  return o;
}

void demand(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 5) return 0;
  const uint8_t first = data[0];
  const uint32_t seed = 1u | data[1] | data[2] << 8 | data[3] << 16 | uint32_t{data[4]} << 24;
  const std::string_view stream(reinterpret_cast<const char*>(data) + 5, size - 5);

  const Outcome whole = run(first, stream, 0);
  const Outcome split = run(first, stream, seed);
  demand(whole.fed == split.fed && whole.finished == split.finished, "same state");
  if (whole.fed == ParseState::kInvalid) {
    // A body may have been seen a little further before the error was, but never differently.
    demand(whole.messages.size() == split.messages.size(), "same messages before the error");
  } else {
    demand(whole.body_bytes == split.body_bytes, "same body_bytes");
  }
  demand(whole.messages == split.messages, "same trace");
  size_t from = 0;
  for (const auto& m : whole.messages) {
    demand(m.head_end <= stream.size() && m.head.head_size <= m.head_end, "head within the stream");
    demand(m.head_end - m.head.head_size >= from, "messages do not overlap");
    const std::string_view head = stream.substr(m.head_end - m.head.head_size, m.head.head_size);
    demand(m.head.after_start_line <= head.size() && head[m.head.after_start_line - 1] == '\n',
           "start line ends with LF");
    demand(head.find('\n') + 1 == m.head.after_start_line, "start line is the first line");
    demand(head.back() == '\n', "head ends with LF");
    if (m.head.filibuster.size() == filibuster::kHeaderValueSize &&
        m.head.filibuster.find_first_of(" \t") == std::string::npos) {
      demand(head.substr(m.head.filibuster_offset, m.head.filibuster.size()) == m.head.filibuster,
             "our value stands where it was said to");
    }
    if (!m.complete) break;
    demand(m.digest == filibuster::hash_text(m.body) && m.size == m.body.size(),
           "digest of the body");
    from = m.end == 0 ? m.head_end : m.end;
  }
  filibuster::http1::sniff(stream.data(), stream.size());
  return 0;
}
