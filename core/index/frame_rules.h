// Which frames of a call stack count: lists of the configuration (`index.frames`), compiled by the
// daemon into a bounded table that stands in lane memory for the whole session. Pure; every reader
// clamps what it reads.
//
// What a pattern (text/glob.h) is compared with:
//   a native frame   its module: the base name, or the path
//   a file           CPython, Node: the base name or the path; the dotted module, by any of its
//                    last parts ("shop.cart" of /srv/app/shop/cart.py); Node's package
//   a class          JVM: the full name
// A module, package or class stands for all that is in it. A pattern with a slash is a path, whose
// beginning may be left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace filibuster {

inline constexpr uint32_t kMaxFrameRules = 64;
inline constexpr size_t kMaxFramePattern = 124;  // bytes

struct FrameRule {
  uint8_t deny;  // else allow
  uint8_t size;
  uint16_t reserved;
  char pattern[kMaxFramePattern];
  std::string_view text() const {
    return {pattern, size < kMaxFramePattern ? size : kMaxFramePattern};
  }
};
static_assert(sizeof(FrameRule) == 128);

struct FrameTable {
  uint32_t count;
  uint32_t reserved;
  FrameRule rules[kMaxFrameRules];
};

enum class FrameKind : uint8_t { kModule, kFile, kClass };

bool frame_matches(std::string_view pattern, FrameKind kind, std::string_view name);

// What the lists say of a frame: allow beats deny, deny beats the default.
enum class FrameVerdict : uint8_t { kDefault, kCounts, kLeftOut };
FrameVerdict frame_verdict(const FrameTable& table, FrameKind kind, std::string_view name);

}  // namespace filibuster
