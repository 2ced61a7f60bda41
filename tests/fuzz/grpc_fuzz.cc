// Four bytes of split, then the data of one direction of a gRPC stream: message boundaries must not
// depend on the split, and what a person's text says must come back from its encodings.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "core/grpc/call.h"
#include "core/grpc/response.h"
#include "tests/unit/core/grpc/message_trace.h"
#include "tests/unit/core/http2/connection_trace.h"
#include "tests/unit/core/http2/wire.h"

namespace {

using namespace filibuster;
using namespace filibuster::grpc;

void demand(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", what);
  std::abort();
}

void check_messages(std::string_view stream, uint32_t seed) {
  MessageTracer whole, split;
  whole.feed(stream);
  for (std::string_view rest = stream; !rest.empty();) {
    seed = seed * 1664525 + 1013904223;
    const size_t size = std::min<size_t>(rest.size(), 1 + (seed >> 16) % (seed % 3 == 0 ? 3 : 50));
    split.feed(rest.substr(0, size));
    rest.remove_prefix(size);
  }
  demand(whole.messages == split.messages, "same messages");
  demand(whole.reader.failed() == split.reader.failed(), "same error");
  demand(whole.reader.between_messages() == split.reader.between_messages(), "same end");
  uint64_t at = 0;
  for (const TracedMessage& m : whole.messages) {
    demand(m.offset == at, "messages follow each other");
    demand(m.bytes == stream.substr(at + kPrefixSize, m.bytes.size()), "bytes of the stream");
    demand(m.complete == (m.bytes.size() == m.size), "complete with its last byte");
    at += kPrefixSize + m.size;
  }
}

void check_texts(std::string_view text) {
  std::vector<char> encoded(text.size() * 3), decoded(text.size() * 3);
  const size_t size = encode_message(text, encoded.data(), encoded.size());
  for (size_t i = 0; i < size; ++i) {
    demand(encoded[i] >= 0x20 && encoded[i] <= 0x7e, "encoded text is printable");
  }
  const size_t back = decode_message({encoded.data(), size}, decoded.data(), decoded.size());
  demand(std::string_view(decoded.data(), back) == text, "what was encoded is decoded");
  std::vector<char> small(text.size() / 2);
  demand(decode_message(text, small.data(), small.size()) <= small.size(), "within its capacity");
  demand(encode_message(text, small.data(), small.size()) <= small.size(), "within its capacity");

  is_grpc(text);
  parse_status(text);
  if (const auto method = split_path(text)) {
    demand("/" + std::string(method->service) + "/" + std::string(method->method) == text,
           "the path's parts are the path");
  }
}

// A client reads a synthetic answer as what it says.
void check_answer(std::string_view text) {
  std::vector<char> memory(32 * 1024);
  http2::Output out(memory.data(), memory.size());
  // Small, but a block of 1.2 KB stays within kMaxBlockFrames.
  const uint32_t frame_size = 64 + static_cast<uint32_t>(text.size() % 100);
  write_status(1, {Code::kInternal, text.substr(0, 300), text.substr(0, 100)}, true, {}, frame_size,
               out);
  if (!out.ok()) return;
  // As a server's answer to the HTTP/1.1 request of an upgrade: a request without an encoder.
  http2::ConnectionTracer client;
  client.view->begin_upgraded("");
  client.responses(http2::settings() + std::string(out.view()));
  demand(!client.view->lost() && client.lines.back() == "closed 1", "a synthetic answer is one");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) return 0;
  const uint32_t seed = 1u | data[0] | data[1] << 8 | data[2] << 16 | uint32_t{data[3]} << 24;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 4, size - 4);
  check_messages(rest, seed);
  check_texts(rest);
  check_answer(rest);
  return 0;
}
