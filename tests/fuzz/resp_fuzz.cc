// One byte of direction, four of split, then a stream. The parsers must survive it, stay within
// their feed, and report the same for the whole as for every split and for bulks that they do not
// see; and every message must be the same when it comes alone.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/index/body_walker.h"
#include "core/resp/arguments.h"
#include "core/resp/key_pattern.h"
#include "tests/unit/resp/trace.h"

namespace {

using filibuster::resp::CommandState;
using filibuster::resp::CommandTracer;
using filibuster::resp::kMaxSniff;
using filibuster::resp::ReplyTracer;
using filibuster::resp::Sniff;
using filibuster::resp::TracedCommand;
using filibuster::resp::TracedReply;

void demand(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", what);
  std::abort();
}

uint32_t next(uint32_t* seed) {
  return (*seed = *seed * 1664525 + 1013904223) >> 16;
}

// `seed` 0: byte by byte. Otherwise in pieces whose sizes follow from it.
template <typename Tracer>
void feed_pieces(Tracer* t, std::string_view stream, uint32_t seed) {
  for (size_t at = 0; at < stream.size();) {
    const uint32_t random = seed != 0 ? next(&seed) : 0;
    const size_t size = random % 4 == 0   ? 1
                        : random % 4 == 1 ? 1 + random / 4 % 8
                                          : random / 4 % 97;
    const size_t piece = std::min(size, stream.size() - at);
    t->feed(stream.substr(at, piece));
    at += piece;
  }
}

// As feed_pieces, but some pieces of bulk strings are not seen.
template <typename Tracer>
void skip_pieces(Tracer* t, std::string_view stream, uint32_t seed) {
  for (size_t at = 0; at < stream.size();) {
    const uint32_t random = next(&seed);
    const size_t left = stream.size() - at;
    const auto bulk = static_cast<size_t>(std::min<uint64_t>(t->parser.bulk_left(), left));
    size_t piece = 0;
    if (bulk != 0 && random % 4 != 0) {
      piece = 1 + random / 4 % bulk;
      t->skip(piece);
    } else {
      piece = std::min<size_t>(1 + random / 4 % 8, left);
      t->feed(stream.substr(at, piece));
    }
    at += piece;
  }
}

// What does not depend on the bytes of bulk strings.
bool same_frame(const TracedCommand& a, const TracedCommand& b) {
  return a.name == b.name && a.arguments == b.arguments && a.inline_command == b.inline_command &&
         a.first.size == b.first.size && a.size == b.size && a.end == b.end;
}
bool same_frame(const TracedReply& a, const TracedReply& b) {
  return a.type == b.type && a.is_null == b.is_null && a.elements == b.elements &&
         a.size == b.size && a.end == b.end;
}

template <typename Tracer>
void expect_the_same(const Tracer& a, const Tracer& b) {
  demand(a.parser.state() == b.parser.state(), "same state");
  demand(a.parser.reason() == b.parser.reason(), "same reason");
  demand(a.all == b.all, "same trace");
}

template <typename Tracer>
void check(std::string_view stream, uint32_t seed) {
  Tracer whole;
  whole.feed(stream);
  for (const uint32_t split : {0u, seed}) {
    Tracer pieces;
    feed_pieces(&pieces, stream, split);
    expect_the_same(whole, pieces);
  }
  uint64_t from = 0;
  for (const auto& message : whole.all) {
    demand(message.end <= stream.size() && message.size != 0, "within the stream");
    demand(message.size <= message.end - from, "messages do not overlap");
    from = message.end;
    Tracer alone;
    alone.feed(stream.substr(message.end - message.size, message.size));
    using State = decltype(alone.parser.state());
    demand(alone.all.size() == 1 && alone.parser.state() == State::kStart, "a whole message");
    auto moved = alone.all[0];
    moved.end = message.end;
    demand(moved == message, "the same alone");
  }
  const bool valid = whole.parser.reason() == nullptr;
  Tracer unseen;
  skip_pieces(&unseen, stream, seed);
  if (!valid) return;
  demand(whole.parser.state() == unseen.parser.state(), "same state unseen");
  demand(std::ranges::equal(whole.all, unseen.all,
                            [](const auto& a, const auto& b) { return same_frame(a, b); }),
         "same frames unseen");
}

// More bytes never change what was decided, and what is taken for a command begins like one.
void check_sniff(std::string_view stream) {
  const size_t most = std::min(stream.size(), kMaxSniff);
  Sniff before = Sniff::kNeedMore;
  for (size_t size = 0; size <= most; ++size) {
    const std::vector<char> copy(stream.begin(), stream.begin() + static_cast<long>(size));
    const Sniff now = filibuster::resp::sniff(copy.data(), size);
    demand(before == Sniff::kNeedMore || now == before, "a decision stands");
    const bool decided = before != now;
    before = now;
    if (decided && now == Sniff::kCommand) {
      CommandTracer t;
      demand(t.feed(stream.substr(0, size)) != CommandState::kInvalid, "a command begins so");
    }
  }
  demand(most < kMaxSniff || before != Sniff::kNeedMore, "its bound decides");
}

void check_pattern(std::string_view key, bool truncated) {
  std::vector<char> out(key.size() + 1);
  const size_t written = filibuster::resp::key_pattern(key, out.data(), out.size(), truncated);
  demand(written <= out.size(), "a pattern is no longer than its key and a star");
  for (size_t i = 0; i < written; ++i) demand(out[i] > ' ' && out[i] <= '~', "a pattern is text");
  std::vector<char> less(written / 2);
  const size_t part = filibuster::resp::key_pattern(key, less.data(), less.size(), truncated);
  demand(part == less.size() && std::equal(less.begin(), less.end(), out.begin()),
         "less room, the same beginning");
}

class Text final : public filibuster::resp::TextSink {
 public:
  void text(const char* data, size_t size) override { all.append(data, size); }
  std::string all;
};

// `members` of a transaction; 0: of one command.
std::string text_of(std::string_view bytes, uint32_t members, uint32_t seed) {
  Text out;
  filibuster::resp::ArgumentText text = members == 0
                                            ? filibuster::resp::ArgumentText(&out)
                                            : filibuster::resp::ArgumentText(&out, members);
  for (size_t at = 0; at < bytes.size();) {
    const size_t piece =
        seed == 0 ? bytes.size() : std::min<size_t>(1 + next(&seed) % 9, bytes.size() - at);
    text.feed(bytes.data() + at, piece);
    at += piece;
  }
  text.finish();
  return out.all;
}

void check_arguments(std::string_view stream, uint32_t seed) {
  for (const uint32_t members : {0u, 1u + seed % 3})  // whatever the bytes are
    demand(text_of(stream, members, 0) == text_of(stream, members, seed),
           "the same text in any split");
  CommandTracer whole;
  whole.feed(stream);
  for (const TracedCommand& command : whole.all) {
    if (command.inline_command) continue;
    const std::string text = text_of(stream.substr(command.end - command.size, command.size), 0, 0);
    filibuster::BodyWalker walker;
    walker.begin_request(nullptr, nullptr);
    walker.feed(text);
    demand(walker.finish().form == filibuster::BodyForm::kJson, "arguments are JSON");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 5) return 0;
  const uint32_t seed = 1u | data[1] | data[2] << 8 | data[3] << 16 | uint32_t{data[4]} << 24;
  const std::string_view stream(reinterpret_cast<const char*>(data) + 5, size - 5);
  if ((data[0] & 1) != 0) {
    check<CommandTracer>(stream, seed);
    check_sniff(stream);
    check_arguments(stream, seed);
  } else {
    check<ReplyTracer>(stream, seed);
  }
  check_pattern(stream.substr(0, 100), (data[0] & 2) != 0);
  return 0;
}
