// What the hooks share that fill a buffer with random bytes.
#pragma once

#include <sys/types.h>

#include <cstddef>

#include "preload/rpc/draws.h"

namespace filibuster::preload {

// To be called where draws_matter(). `original()` fills at most `size` bytes and returns how many, or -1 with errno.
template <typename Original>
ssize_t drawn_bytes(DrawSource source, void* out, size_t size, const Original& original) {
  Draw draw(source);
  if (draw.give(out, size)) return static_cast<ssize_t>(size);
  const ssize_t result = original();
  if (result > 0) draw.keep(out, static_cast<size_t>(result));
  return result;
}

// Is the descriptor one of /dev/random or /dev/urandom?
bool is_random_device(int fd);

}  // namespace filibuster::preload
