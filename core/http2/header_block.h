// Header blocks (HPACK, RFC 7541): decoded by libnghttp2, in the pieces they come in, with all its
// memory in an arena of the owner; encoded by ourselves, as literals only.
//
// Representations that leave the table as it is and are not Huffman coded are read here, with the
// inflater's table. From the first other representation on, the inflater reads the rest of the block.
// Nearly all blocks of a connection that has been in use are read here, in a fraction of the time.
//
// The decoder follows the table that the two ends share. It has to see every block of its
// direction, from the first one on; after an error it can follow no more.
//
// The encoder never touches a table: what it writes can be added to a block of another encoder. A
// block may begin with a table size update (size_update), which is how somebody in the middle
// takes over a direction: size_update(0) once, then literals, whatever the first encoder had in its
// table.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/http2/arena.h"
#include "core/http2/frame.h"

namespace filibuster::http2 {

struct Field {
  std::string_view name;
  std::string_view value;
  bool never_indexed = false;  // RFC 7541 §6.2.3: whoever sends the field on must keep it so
};

class FieldHandler {
 public:
  virtual void on_field(const Field& field) = 0;

 protected:
  ~FieldHandler() = default;
};

// Bound of ours on one decoded list (HPACK bombs): names, values and 32 for each field (RFC 9113
// §6.5.2).
inline constexpr uint64_t kMaxHeaderList = 256 * 1024;
// Enough for a table of 4 KiB in small fields and values of 30 KiB; larger tables use it up
// (kHeaderMemory) only when they are filled.
inline constexpr size_t kDecoderMemory = 256 * 1024 + 4096;

class Output;

class HeaderDecoder {
 public:
  // `memory` (aligned to 64 bytes) outlives the decoder. It is not touched before the first block.
  HeaderDecoder(void* memory, size_t size);
  HeaderDecoder(const HeaderDecoder&) = delete;
  HeaderDecoder& operator=(const HeaderDecoder&) = delete;

  // One block: begin, any number of feed, end. The fields are valid during the call of `handler`.
  // They return the error, which is final.
  Error begin();
  Error feed(const char* data, size_t size, FieldHandler* handler);
  Error end(FieldHandler* handler);

  // The reader's SETTINGS_HEADER_TABLE_SIZE as the writer may use it from the next block on:
  // `smallest` since the last call (RFC 7541 §4.2), then `now`.
  void limit_table(uint32_t smallest, uint32_t now);
  // A larger value was announced, and not yet acknowledged: the writer may know it already.
  void allow_table(uint32_t size);

  // Writes a block that gives the empty table of a fresh decoder the size and the entries of this one,
  // for a decoder that goes on in the middle. To be called between blocks. Writes nothing if no block
  // was read yet.
  void dump_table(Output& out) const;

  Error error() const { return error_; }
  uint64_t list_size() const { return list_size_; }  // of the current or last block
  const Arena& memory() const { return arena_; }

 private:
  size_t take_direct(const char* data, size_t size, FieldHandler* handler);
  bool emit(const Field& field, FieldHandler* handler);
  Error run(const char* data, size_t size, bool final, FieldHandler* handler);
  Error fail(Error error);

  Arena arena_;
  nghttp2_mem memory_;
  nghttp2_hd_inflater* inflater_ = nullptr;
  Error error_ = Error::kNone;
  uint64_t list_size_ = 0;
  bool direct_ = false;  // nothing of the block in progress was given to the inflater
  // Limits that the inflater does not know yet: it takes them between blocks only.
  bool changed_ = false;
  uint32_t smallest_ = kDefaultHeaderTableSize;
  uint32_t limit_ = kDefaultHeaderTableSize;
};

// Writes into memory of the caller; what does not fit makes it full, for good.
class Output {
 public:
  Output(char* data, size_t capacity) : data_(data), capacity_(capacity) {}

  void append(const void* data, size_t size);
  void append(std::string_view text) { append(text.data(), text.size()); }
  void append_byte(unsigned value) {
    const char byte = static_cast<char>(value);
    append(&byte, 1);
  }
  // Room for `size` bytes that the caller fills later; nullptr: full.
  char* reserve(size_t size);

  void fail() { full_ = true; }
  bool ok() const { return !full_; }
  size_t size() const { return size_; }
  size_t room() const { return full_ ? 0 : capacity_ - size_; }
  std::string_view view() const { return {data_, size_}; }

 private:
  char* data_;
  size_t capacity_;
  size_t size_ = 0;
  bool full_ = false;
};

// RFC 7541 §6.3, at the beginning of a block.
void write_size_update(uint32_t size, Output& out);
// RFC 7541 §6.2.1: as write_literal, but the field is entered into the reader's table.
void write_indexed_literal(std::string_view name, std::string_view value, Output& out);
// RFC 7541 §6.2.2, §6.2.3: a new name, no Huffman code, no change of the table. `name` in lower
// case.
void write_literal(const Field& field, Output& out);
inline void write_literal(std::string_view name, std::string_view value, Output& out) {
  write_literal(Field{name, value, false}, out);
}
// Bytes that write_literal writes.
size_t literal_size(std::string_view name, std::string_view value);

}  // namespace filibuster::http2
