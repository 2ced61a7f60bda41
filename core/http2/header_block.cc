#include "core/http2/header_block.h"

#include <algorithm>
#include <cstring>

namespace filibuster::http2 {
namespace {

void* allocate(size_t size, void* arena) {
  return static_cast<Arena*>(arena)->allocate(size);
}
void release(void* block, void* arena) {
  static_cast<Arena*>(arena)->release(block);
}
void* allocate_zeroed(size_t count, size_t size, void* arena) {
  if (size != 0 && count > SIZE_MAX / size) return nullptr;
  void* block = static_cast<Arena*>(arena)->allocate(count * size);
  if (block != nullptr) std::memset(block, 0, count * size);
  return block;
}
void* reallocate(void* block, size_t size, void* arena) {
  return static_cast<Arena*>(arena)->reallocate(block, size);
}

std::string_view text(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

constexpr uint8_t kNothing = 0;

// RFC 7541 §5.1: `value` in the low `prefix` bits of a byte that begins with `pattern`.
void write_integer(unsigned pattern, unsigned prefix, uint64_t value, Output& out) {
  const uint64_t limit = (1u << prefix) - 1;
  if (value < limit) {
    out.append_byte(pattern | static_cast<unsigned>(value));
    return;
  }
  out.append_byte(pattern | static_cast<unsigned>(limit));
  for (value -= limit; value >= 128; value /= 128) {
    out.append_byte(0x80 | static_cast<unsigned>(value % 128));
  }
  out.append_byte(static_cast<unsigned>(value));
}

size_t integer_size(unsigned prefix, uint64_t value) {
  const uint64_t limit = (1u << prefix) - 1;
  if (value < limit) return 1;
  size_t size = 2;
  for (value -= limit; value >= 128; value /= 128) ++size;
  return size;
}

bool is_size_update(char first) {
  return (static_cast<uint8_t>(first) & 0xe0) == 0x20;
}

// Reads the parts of a block, as far as that needs no state. False: the part is not whole, or is left to
// the inflater.
class Bytes {
 public:
  Bytes(const char* data, size_t size) : begin_(data), at_(data), end_(data + size) {}
  size_t position() const { return static_cast<size_t>(at_ - begin_); }
  bool empty() const { return at_ == end_; }
  unsigned first() const { return static_cast<uint8_t>(*at_); }

  // RFC 7541 §5.1, of at most four bytes.
  bool read_integer(unsigned prefix, uint64_t* out) {
    if (empty()) return false;
    const unsigned limit = (1u << prefix) - 1;
    *out = static_cast<uint8_t>(*at_++) & limit;
    if (*out < limit) return true;
    for (unsigned shift = 0; shift < 21 && !empty(); shift += 7) {
      const auto byte = static_cast<uint8_t>(*at_++);
      *out += uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  // §5.2, not Huffman coded, and no longer than what the inflater would take for sure.
  bool read_string(std::string_view* out) {
    constexpr uint64_t kLongest = 16 * 1024;
    uint64_t size = 0;
    if (empty() || (first() & 0x80) != 0 || !read_integer(7, &size)) return false;
    if (size > kLongest || size > static_cast<size_t>(end_ - at_)) return false;
    *out = {at_, static_cast<size_t>(size)};
    at_ += size;
    return true;
  }

 private:
  const char* begin_;
  const char* at_;
  const char* end_;
};

void write_string(std::string_view value, Output& out) {
  write_integer(0, 7, value.size(), out);
  out.append(value);
}

}  // namespace

HeaderDecoder::HeaderDecoder(void* memory, size_t size)
    : arena_(memory, size), memory_{&arena_, &allocate, &release, &allocate_zeroed, &reallocate} {}

Error HeaderDecoder::fail(Error error) {
  if (error_ == Error::kNone) error_ = error;
  return error_;
}

void HeaderDecoder::limit_table(uint32_t smallest, uint32_t now) {
  smallest_ = changed_ ? std::min(smallest_, smallest) : smallest;
  limit_ = now;
  changed_ = true;
}

void HeaderDecoder::allow_table(uint32_t size) {
  if (size <= limit_) return;
  if (!changed_) smallest_ = limit_;
  limit_ = size;
  changed_ = true;
}

void HeaderDecoder::dump_table(Output& out) const {
  if (inflater_ == nullptr) return;
  constexpr size_t kStaticEntries = 61;  // RFC 7541 appendix A; the newest entry follows them
  const size_t size = nghttp2_hd_inflate_get_max_dynamic_table_size(inflater_);
  write_size_update(static_cast<uint32_t>(size), out);
  for (size_t i = nghttp2_hd_inflate_get_num_table_entries(inflater_); i > kStaticEntries; --i) {
    const nghttp2_nv* nv = nghttp2_hd_inflate_get_table_entry(inflater_, i);
    if (nv == nullptr) return out.fail();
    write_indexed_literal(text(nv->name, nv->namelen), text(nv->value, nv->valuelen), out);
  }
}

Error HeaderDecoder::begin() {
  if (error_ != Error::kNone) return error_;
  list_size_ = 0;
  direct_ = !changed_;  // after a change, only the inflater knows which size update the block owes
  if (inflater_ == nullptr && nghttp2_hd_inflate_new2(&inflater_, &memory_) != 0) {
    return fail(Error::kHeaderMemory);
  }
  if (changed_) {
    changed_ = false;
    if (nghttp2_hd_inflate_change_table_size(inflater_, smallest_) != 0 ||
        nghttp2_hd_inflate_change_table_size(inflater_, limit_) != 0) {
      return fail(Error::kCompression);
    }
  }
  return Error::kNone;
}

Error HeaderDecoder::feed(const char* data, size_t size, FieldHandler* handler) {
  if (size == 0 || error_ != Error::kNone) return error_;
  if (direct_) {
    const size_t taken = take_direct(data, size, handler);
    if (error_ != Error::kNone || taken == size) return error_;
    data += taken;
    size -= taken;
    direct_ = false;
    // The inflater takes this for the beginning of a block, where a size update would be in order
    // (RFC 7541 §4.2); but fields came before it.
    if (list_size_ != 0 && is_size_update(*data)) return fail(Error::kCompression);
  }
  return run(data, size, false, handler);
}

Error HeaderDecoder::end(FieldHandler* handler) {
  if (direct_) return error_;
  if (run(nullptr, 0, true, handler) != Error::kNone) return error_;
  if (nghttp2_hd_inflate_end_headers(inflater_) != 0) return fail(Error::kCompression);
  return Error::kNone;
}

bool HeaderDecoder::emit(const Field& field, FieldHandler* handler) {
  list_size_ += field.name.size() + field.value.size() + 32;
  if (list_size_ > kMaxHeaderList) {
    fail(Error::kHeaderListTooLarge);
    return false;
  }
  handler->on_field(field);
  return true;
}

// Returns the bytes of the representations that it has read, whole ones only.
size_t HeaderDecoder::take_direct(const char* data, size_t size, FieldHandler* handler) {
  Bytes in(data, size);
  for (;;) {
    const size_t begin = in.position();
    if (in.empty()) return begin;
    const unsigned first = in.first();
    const bool indexed = (first & 0x80) != 0;
    if (!indexed && (first & 0xe0) != 0) return begin;  // enters the table, or resizes it
    uint64_t index = 0;
    if (!in.read_integer(indexed ? 7 : 4, &index) || (indexed && index == 0)) return begin;
    Field field;
    if (index != 0) {
      const nghttp2_nv* entry = nghttp2_hd_inflate_get_table_entry(inflater_, index);
      if (entry == nullptr) return begin;  // the inflater names the error
      field.name = text(entry->name, entry->namelen);
      field.value = text(entry->value, entry->valuelen);
    } else if (!in.read_string(&field.name) || field.name.empty()) {
      return begin;
    }
    if (!indexed) {
      if (!in.read_string(&field.value)) return begin;
      field.never_indexed = (first & 0x10) != 0;
    }
    if (!emit(field, handler)) return begin;
  }
}

Error HeaderDecoder::run(const char* data, size_t size, bool final, FieldHandler* handler) {
  if (error_ != Error::kNone) return error_;
  const auto* in = size == 0 ? &kNothing : reinterpret_cast<const uint8_t*>(data);
  for (;;) {
    nghttp2_nv nv;
    int flags = 0;
    const ssize_t used = nghttp2_hd_inflate_hd2(inflater_, &nv, &flags, in, size, final ? 1 : 0);
    if (used < 0) {
      return fail(used == NGHTTP2_ERR_NOMEM ? Error::kHeaderMemory : Error::kCompression);
    }
    in += used;
    size -= static_cast<size_t>(used);
    if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
      const bool never_indexed = (nv.flags & NGHTTP2_NV_FLAG_NO_INDEX) != 0;
      if (!emit({text(nv.name, nv.namelen), text(nv.value, nv.valuelen), never_indexed}, handler))
        return error_;
      continue;
    }
    if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0 || (size == 0 && !final)) return Error::kNone;
    if (used == 0) return fail(Error::kCompression);  // cut short
  }
}

void Output::append(const void* data, size_t size) {
  char* to = reserve(size);
  if (to != nullptr && size != 0) std::memcpy(to, data, size);
}

char* Output::reserve(size_t size) {
  if (full_ || size > capacity_ - size_) {
    full_ = true;
    return nullptr;
  }
  char* at = data_ + size_;
  size_ += size;
  return at;
}

void write_size_update(uint32_t size, Output& out) {
  write_integer(0x20, 5, size, out);
}

void write_literal(const Field& field, Output& out) {
  const unsigned form = field.never_indexed ? 0x10 : 0x00;
  const size_t name_size = field.name.size(), value_size = field.value.size();
  if (name_size < 127 && value_size < 127) {  // nearly all: each length is one byte
    char* to = out.reserve(3 + name_size + value_size);
    if (to == nullptr) return;
    *to++ = static_cast<char>(form);
    *to++ = static_cast<char>(name_size);
    if (name_size != 0) std::memcpy(to, field.name.data(), name_size);
    to += name_size;
    *to++ = static_cast<char>(value_size);
    if (value_size != 0) std::memcpy(to, field.value.data(), value_size);
    return;
  }
  out.append_byte(form);
  write_string(field.name, out);
  write_string(field.value, out);
}

void write_indexed_literal(std::string_view name, std::string_view value, Output& out) {
  out.append_byte(0x40);
  write_string(name, out);
  write_string(value, out);
}

size_t literal_size(std::string_view name, std::string_view value) {
  return 1 + integer_size(7, name.size()) + name.size() + integer_size(7, value.size()) +
         value.size();
}

}  // namespace filibuster::http2
