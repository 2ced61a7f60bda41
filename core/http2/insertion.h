// Inserts our field into a request of somebody else's, in flight.
//
// The field goes to the end of the header block (pseudo-header fields stay first), as a literal that is
// not indexed: the encoder of the client, the decoder of the server and their tables stay as they are.
// Two edits on the stream of bytes:
//   - as a rule the last frame of the block grows: its length is overwritten, the field is inserted
//     after its last byte of the block, before its padding;
//   - if that frame would be longer than the server allows, its END_HEADERS flag is taken away, and
//     a CONTINUATION with the field is inserted after it.
//
// What must be held: the frame's header precedes its block, so no byte from `block.last_start` on
// may have left when the edits are made. Whoever holds from FrameParser::hold_from on (the whole block)
// can always make them, and can take the whole request away besides. After the edits nothing is held
// or remembered.
//
// Only for on_request, never for on_trailers: a server reads its fields from the request's head.
// A request that carries the field already gets a second one: the receiver takes the last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/http2/frame_parser.h"
#include "core/http2/header_block.h"

namespace filibuster::http2 {

inline constexpr size_t kMaxInsertion = 128;  // bytes; one edit of preload/stream/edited_stream.h

struct Insertion {
  // Bytes of the stream to be overwritten from `replace_at`. Comes before the insertion.
  uint64_t replace_at = 0;
  size_t replace_size = 0;
  char replace_bytes[3];
  // Bytes to be inserted before position `insert_at`.
  uint64_t insert_at = 0;
  size_t insert_size = 0;
  char insert_bytes[kMaxInsertion];

  std::string_view replacement() const { return {replace_bytes, replace_size}; }
  std::string_view insertion() const { return {insert_bytes, insert_size}; }
};

// `reader`: the server's settings (ConnectionView::settings_for). `list_size`: MessageHead's.
// False: the field is not to be inserted, it would exceed the server's
// SETTINGS_MAX_HEADER_LIST_SIZE, or kMaxInsertion.
bool plan_insertion(const HeaderBlock& block, uint64_t list_size, const Settings& reader,
                    std::string_view name, std::string_view value, Insertion* out);

// Writes a direction anew, block by block, from the first block on that its reader does not get to see:
// from there on the client's encoder refers to a table that the server's decoder does not have. Give
// it every block of the direction; those that are swallowed simply are not written.
//
//   on_block:      rewriter.begin()
//   on_field:      rewriter.add(field)
//   on_block_end:  [rewriter.add(our field)]  rewriter.write(block, ..., out)  or nothing
class BlockRewriter {
 public:
  // One block at a time is collected in `memory`.
  BlockRewriter(char* memory, size_t size) : block_(memory, size), memory_(memory), size_(size) {}

  void begin();
  void add(const Field& field) { write_literal(field, block_); }
  // Fields that were written before, by write_literal.
  void add_literals(std::string_view literals) { block_.append(literals); }
  // Writes the frames of the block, with the flags and the priority of `original`. False: the block did
  // not fit into `memory` or into `out`, and nothing was written; the connection cannot go on.
  bool write(const HeaderBlock& original, uint32_t max_frame_size, Output& out);
  // Has the reader's table been emptied already?
  bool began() const { return began_; }

 private:
  Output block_;
  char* memory_;
  size_t size_;
  bool began_ = false;  // the size update is on the wire
};

}  // namespace filibuster::http2
