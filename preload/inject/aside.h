// An answer of ours on a connection that goes on afterwards. Until the application has read all of the
// answer, its descriptor is the end of a pair that holds the answer. The real connection stands aside
// meanwhile, and what the application sends still goes there. Every reader wakes, in whatever way it
// waits, and nothing of the real connection is lost.
#pragma once

#include <string_view>

#include "preload/inject/plain_end.h"

namespace filibuster::preload {

// Afterwards `answer` is readable on `fd`, and *real, a descriptor of ours, is the real connection. No
// answer of the server may be under way. nullptr: done. Else why not, and nothing has changed.
const char* put_aside(int fd, Encryption* encryption, std::string_view answer, int* real);
// The real connection takes its place again, with the options as the application has changed them
// meanwhile, and `real` is released. False: that failed, and the application finds its connection ended.
bool put_back(int fd, int real);

}  // namespace filibuster::preload
