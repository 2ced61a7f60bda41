// What HeaderDecoder reads itself, beside libnghttp2's inflater alone: connections of random blocks, of
// all representations, whole and cut short, in pieces, with table size updates where they belong and
// where they do not.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/http2/header_block.h"

namespace filibuster::http2 {
namespace {

struct Seen {
  std::string name, value;
  bool never_indexed;
  bool operator==(const Seen&) const = default;
};

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(engine_() % n); }
  bool one_in(uint32_t n) { return below(n) == 0; }

 private:
  std::mt19937 engine_;
};

void add_integer(std::string* out, unsigned pattern, unsigned prefix, uint32_t value) {
  const uint32_t limit = (1u << prefix) - 1;
  if (value < limit) {
    *out += static_cast<char>(pattern | value);
    return;
  }
  *out += static_cast<char>(pattern | limit);
  for (value -= limit; value >= 128; value /= 128) *out += static_cast<char>(0x80 | value % 128);
  *out += static_cast<char>(value);
}

void add_string(Random& random, std::string* out) {
  if (random.one_in(6)) {  // RFC 7541 C.4.1: www.example.com, Huffman coded
    *out += "\x8c\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff";
    return;
  }
  const uint32_t size = random.one_in(10) ? random.below(300) : random.below(12);
  add_integer(out, 0, 7, size);
  for (uint32_t i = 0; i < size; ++i) *out += static_cast<char>('a' + random.below(26));
}

void add_representation(Random& random, std::string* out) {
  constexpr unsigned kPatterns[] = {0x00, 0x10, 0x40};
  constexpr unsigned kPrefixes[] = {4, 4, 6};
  if (random.one_in(60)) return add_integer(out, 0x20, 5, random.below(200));
  if (random.one_in(100)) {
    *out += static_cast<char>(random.below(256));
    return;
  }
  // Mostly entries that are there: 61 static ones, then the last ones.
  const uint32_t index = 1 + random.below(random.one_in(10) ? 300 : 64);
  if (!random.one_in(3)) return add_integer(out, 0x80, 7, index);
  const uint32_t kind = random.below(3);
  const bool named = random.one_in(2);
  add_integer(out, kPatterns[kind], kPrefixes[kind], named ? index : 0);
  if (!named) add_string(random, out);
  add_string(random, out);
}

// The inflater, given each block whole. False: an error, for good.
class Reference {
 public:
  Reference() { nghttp2_hd_inflate_new(&inflater_); }
  ~Reference() { nghttp2_hd_inflate_del(inflater_); }
  bool block(std::string bytes, std::vector<Seen>* fields) {
    auto* in = reinterpret_cast<uint8_t*>(bytes.data());
    size_t left = bytes.size();
    for (;;) {
      nghttp2_nv nv;
      int flags = 0;
      const ssize_t used = nghttp2_hd_inflate_hd2(inflater_, &nv, &flags, in, left, 1);
      if (used < 0) return false;
      in += used;
      left -= static_cast<size_t>(used);
      if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
        fields->push_back({std::string(reinterpret_cast<char*>(nv.name), nv.namelen),
                           std::string(reinterpret_cast<char*>(nv.value), nv.valuelen),
                           (nv.flags & NGHTTP2_NV_FLAG_NO_INDEX) != 0});
      } else if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) {
        return nghttp2_hd_inflate_end_headers(inflater_) == 0;
      } else if (used == 0) {
        return false;
      }
    }
  }

 private:
  nghttp2_hd_inflater* inflater_ = nullptr;
};

struct alignas(64) ReferenceMemory {
  char bytes[kDecoderMemory];
};

class Ours final : public FieldHandler {
 public:
  Ours() : decoder_(memory_->bytes, sizeof memory_->bytes) {}
  void on_field(const Field& f) override {
    fields_->push_back({std::string(f.name), std::string(f.value), f.never_indexed});
  }
  bool block(Random& random, const std::string& bytes, std::vector<Seen>* fields) {
    fields_ = fields;
    decoder_.begin();
    for (size_t at = 0; at < bytes.size();) {
      const size_t left = bytes.size() - at;
      const size_t size = random.one_in(2) ? left : 1 + random.below(static_cast<uint32_t>(left));
      const std::vector<char> piece(bytes.begin() + static_cast<long>(at),
                                    bytes.begin() + static_cast<long>(at + size));
      decoder_.feed(piece.data(), piece.size(), this);
      at += size;
    }
    return decoder_.end(this) == Error::kNone;
  }

 private:
  std::unique_ptr<ReferenceMemory> memory_{new ReferenceMemory};
  HeaderDecoder decoder_;
  std::vector<Seen>* fields_ = nullptr;
};

TEST(HeaderBlockReference, EveryBlockIsReadAsTheInflaterReadsIt) {
  size_t good = 0, bad = 0;
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    Random random(seed);
    Reference reference;
    Ours ours;
    for (int number = 0; number < 20; ++number) {
      std::string bytes;
      if (random.one_in(8)) add_integer(&bytes, 0x20, 5, random.below(4097));
      for (uint32_t left = random.below(8); left > 0; --left) add_representation(random, &bytes);
      if (random.one_in(40) && !bytes.empty()) bytes.pop_back();
      std::vector<Seen> wanted, seen;
      const bool fine = reference.block(bytes, &wanted);
      ASSERT_EQ(ours.block(random, bytes, &seen), fine) << "seed " << seed << " block " << number;
      ASSERT_EQ(seen.size(), wanted.size()) << "seed " << seed << " block " << number;
      ASSERT_TRUE(seen == wanted) << "seed " << seed << " block " << number;
      ++(fine ? good : bad);
      if (!fine) break;
    }
  }
  EXPECT_GT(good, 3000u);  // of both kinds, more than one a connection
  EXPECT_GT(bad, 1000u);
}

}  // namespace
}  // namespace filibuster::http2
