#include "core/http2/insertion.h"

#include <algorithm>

#include "core/http2/frame_writer.h"

namespace filibuster::http2 {

bool plan_insertion(const HeaderBlock& block, uint64_t list_size, const Settings& reader,
                    std::string_view name, std::string_view value, Insertion* out) {
  const size_t size = literal_size(name, value);
  if (size + kFrameHeaderSize > kMaxInsertion) return false;
  if (list_size + name.size() + value.size() + 32 > reader.max_header_list_size) return false;

  Output field(out->insert_bytes, sizeof out->insert_bytes);
  if (block.last.length + size <= reader.max_frame_size) {
    char length[4];
    write_u32(length, static_cast<uint32_t>(block.last.length + size) << 8);
    out->replace_at = block.last_start;
    out->replace_size = 3;
    std::copy(length, length + 3, out->replace_bytes);
    out->insert_at = block.fragment_end;
  } else {
    out->replace_at = block.last_start + 4;
    out->replace_size = 1;
    out->replace_bytes[0] = static_cast<char>(block.last.flags & ~kFlagEndHeaders);
    out->insert_at = block.end;
    write_frame_header(
        {static_cast<uint32_t>(size), FrameType::kContinuation, kFlagEndHeaders, block.stream},
        field.reserve(kFrameHeaderSize));
  }
  write_literal(name, value, field);
  out->insert_size = field.size();
  return field.ok();
}

void BlockRewriter::begin() {
  block_ = Output(memory_, size_);
  // The size update empties the reader's table: no block refers to its entries again (RFC 7541 §4.2).
  if (!began_) write_size_update(0, block_);
}

bool BlockRewriter::write(const HeaderBlock& original, uint32_t max_frame_size, Output& out) {
  const size_t frames = block_.size() / max_frame_size + 2;
  if (!block_.ok() || out.room() < block_.size() + frames * kFrameHeaderSize + kPriorityFieldSize) {
    return false;
  }
  began_ = true;
  write_headers({original.stream, original.end_stream,
                 original.has_priority ? original.priority : nullptr, original.promised},
                block_.view(), max_frame_size, out);
  return out.ok();
}

}  // namespace filibuster::http2
