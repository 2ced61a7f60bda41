// Insertion against a reference: what a server (libnghttp2's session) reads from the edited wire is
// what it reads from the application's bytes, with our field at the end of every request.
//
// The first byte chooses: even: the rest, after four bytes of split, is what the client sends after
// its preface; odd: it is a recipe for a client that does everything right (indexed and changing
// fields, padding, priorities, CONTINUATION, data and pings between).
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/unit/core/http2/edited_connection.h"
#include "tests/unit/core/http2/peer.h"
#include "tests/unit/core/http2/wire.h"

namespace {

using namespace filibuster;
using namespace filibuster::http2;

void demand(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", what);
  std::abort();
}

class Recipe {
 public:
  explicit Recipe(std::string_view bytes) : bytes_(bytes) {}
  bool done() const { return bytes_.empty(); }
  uint8_t next() {
    if (bytes_.empty()) return 0;
    const auto byte = static_cast<uint8_t>(bytes_[0]);
    bytes_.remove_prefix(1);
    return byte;
  }

 private:
  std::string_view bytes_;
};

// Frames of one block, cut as the recipe says.
std::string block_frames(Recipe& recipe, uint32_t stream, bool end, std::string block) {
  uint8_t flags = end ? kFlagEndStream : 0;
  const uint8_t form = recipe.next();
  const uint8_t pad = form & 2 ? recipe.next() : 0;
  const size_t room = kDefaultMaxFrameSize - (form & 1 ? 5 : 0) - (form & 2 ? 1 + pad : 0);
  size_t first = form & 4 ? recipe.next() % (block.size() + 1) : block.size();
  first = std::min(first, room);
  std::string payload = block.substr(0, first);
  if (form & 1) {
    flags |= kFlagPriority;
    payload = u32(0) + "\x0f" + payload;
  }
  if (form & 2) {
    flags |= kFlagPadded;
    payload = padded(payload, pad);
  }
  std::string frames;
  if (first == block.size()) {
    return frame(FrameType::kHeaders, flags | kFlagEndHeaders, stream, payload);
  }
  frames = frame(FrameType::kHeaders, flags, stream, payload);
  block.erase(0, first);
  if (form & 8 || block.size() > kDefaultMaxFrameSize) {
    first = std::min<size_t>(recipe.next() % (block.size() + 1), kDefaultMaxFrameSize);
    if (block.size() - first > kDefaultMaxFrameSize) first = kDefaultMaxFrameSize;
    frames += frame(FrameType::kContinuation, 0, stream, block.substr(0, first));
    block.erase(0, first);
  }
  return frames + frame(FrameType::kContinuation, kFlagEndHeaders, stream, block);
}

std::string well_behaved_client(Recipe recipe) {
  Encoder encoder;
  std::string bytes;
  uint32_t stream = 1;
  while (!recipe.done() && stream < 120) {
    FieldList fields = {{":method", "POST"},
                        {":scheme", "http"},
                        {":path", "/p" + std::to_string(recipe.next() % 7)},
                        {":authority", "a"}};
    for (int n = recipe.next() % 5; n > 0; --n) {
      const uint8_t what = recipe.next();
      fields.emplace_back("x-" + std::to_string(what % 11), std::string(what, 'v'));
    }
    // As long as a frame, or just not.
    if (recipe.next() == 7) fields.emplace_back("x-long", std::string(16200 + recipe.next(), '&'));
    const uint8_t then = recipe.next();
    bytes += block_frames(recipe, stream, (then & 1) != 0, encoder.block(fields));
    if ((then & 1) == 0) {
      if (then & 2) bytes += frame(FrameType::kData, 0, stream, std::string(then, 'd'));
      if (then & 4) bytes += ping();
      if (then & 8) bytes += frame(FrameType::kWindowUpdate, 0, 0, u32(1));
      bytes += (then & 16) != 0
                   ? block_frames(recipe, stream, true, encoder.block({{"trailer", "t"}}))
                   : frame(FrameType::kData, kFlagEndStream, stream, "end");
    }
    if (then & 32) encoder.change_table_size(then);
    stream += 2;
  }
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 5) return 0;
  uint32_t seed = 1u | data[1] | data[2] << 8 | data[3] << 16 | uint32_t{data[4]} << 24;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 5, size - 5);
  const bool right = data[0] % 2 != 0;
  const std::string bytes = client_start() + settings_ack() +
                            (right ? well_behaved_client(Recipe(rest)) : std::string(rest));

  ReferenceServer original, edited;
  EditedConnection connection;
  connection.received(edited.sent());
  for (std::string_view left = bytes; !left.empty();) {
    seed = seed * 1664525 + 1013904223;
    const size_t most = seed % 3 == 0 ? 3 : seed % 3 == 1 ? 100 : 5000;
    const size_t piece = std::min<size_t>(left.size(), 1 + (seed >> 16) % most);
    connection.send(left.substr(0, piece));
    left.remove_prefix(piece);
  }
  connection.flush();

  if (connection.inserted == 0) demand(connection.wire == bytes, "nothing inserted, same bytes");
  const bool accepted = original.receive(bytes);
  demand(accepted || !right, "the client does everything right");
  if (!accepted) return 0;
  demand(edited.receive(connection.wire), "what was accepted is accepted");
  demand(original.lists.size() == edited.lists.size(), "same number of header lists");
  demand(original.lines == edited.lines, "same frames");
  size_t ours = 0;
  for (size_t i = 0; i < original.lists.size(); ++i) {
    FieldList list = edited.lists[i];
    if (!list.empty() && list.back().first == kHeaderName && list.back().second == kOurValue &&
        list.size() == original.lists[i].size() + 1) {
      list.pop_back();
      ++ours;
    }
    demand(list == original.lists[i], "same fields");
  }
  demand(ours == connection.inserted, "our field is at the end of what it was inserted into");
  if (right) {
    size_t requests = 0;
    for (const FieldList& list : original.lists) requests += list[0].first == ":method" ? 1 : 0;
    demand(ours == requests, "every request has our field");
  }
  return 0;
}
