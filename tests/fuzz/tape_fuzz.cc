// One byte that chooses the record, then its bytes. Decoding must survive them and keep its view inside; what decodes must
// encode to the same bytes again. Or, where that byte is odd, the bytes stand in a ring as a process might leave it: reading it ends,
// and what is read lies within.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "core/protocol/tape.h"

namespace {

using namespace filibuster;

void check_bytes(const std::vector<uint8_t>& bytes) {
  TapeBytes record;
  if (!decode(bytes, &record)) return;
  uint8_t head[kTapeBytesHead];
  encode_head(record, head);
  if (std::memcmp(head, bytes.data(), sizeof head) != 0 ||
      record.bytes.data() != bytes.data() + sizeof head ||
      record.bytes.size() != bytes.size() - sizeof head)
    std::abort();
}

void check_draw(const std::vector<uint8_t>& bytes) {
  TapeDraw record;
  if (!decode(bytes, &record)) return;
  uint8_t head[kTapeDrawHead];
  encode_head(record, head);
  const auto* const site = reinterpret_cast<const uint8_t*>(record.site.data());
  if (std::memcmp(head, bytes.data(), sizeof head) != 0 || site != bytes.data() + sizeof head ||
      record.bytes.data() != site + record.site.size() ||
      record.bytes.size() != bytes.size() - sizeof head - record.site.size() ||
      draw_source_name(static_cast<DrawSource>(record.source)).empty())
    std::abort();
}

template <typename Record>
void check_fields(const std::vector<uint8_t>& bytes) {
  Record record;
  if (!decode(bytes, &record)) return;
  std::vector<uint8_t> again(bytes.size());
  const size_t size = encode(record, again.data(), again.size());
  // Bytes after the last field belong to a later minor version.
  if (size == 0 || std::memcmp(again.data(), bytes.data(), size) != 0) std::abort();
  again.resize(size - 1);
  if (encode(record, again.data(), again.size()) != 0) std::abort();
}

// The first two bytes say how far the writer claims to have come.
void check_ring(const std::vector<uint8_t>& bytes) {
  static const auto ring = std::make_unique<TapeMemory>();
  if (bytes.size() < 2) return;
  const size_t size = std::min(bytes.size() - 2, sizeof ring->data);
  std::memcpy(ring->data, bytes.data() + 2, size);
  ring->head = uint64_t{bytes[0]} << 8 | bytes[1];
  ring->tail = 0;
  ring->corrupted = 0;
  RecordView view;
  for (int records = 0; ring_peek(ring.get(), &view); ++records) {
    if (records > 0x10000) std::abort();
    const uint8_t* const end = ring->data + sizeof ring->data;
    if (view.payload.data() < ring->data ||
        view.payload.size() > static_cast<size_t>(end - view.payload.data()))
      std::abort();
    const std::vector<uint8_t> copy(view.payload.begin(), view.payload.end());
    check_bytes(copy);
    ring_pop(ring.get());
  }
  std::memset(ring->data, 0, std::max<size_t>(size, 0x10100));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::vector<uint8_t> bytes(data + 1, data + size);
  switch (data[0] % 8) {
    case 0:
      check_bytes(bytes);
      break;
    case 2:
      check_fields<TapeGap>(bytes);
      break;
    case 4:
      check_fields<TapeClosed>(bytes);
      break;
    case 6:
      check_draw(bytes);
      break;
    default:
      check_ring(bytes);
      break;
  }
  return 0;
}
