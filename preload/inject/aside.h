// An answer of ours on a connection that goes on afterwards: while the application has not read all of
// it, its descriptor is an end of a pair which holds the answer, and the real connection stands aside,
// where it is still sent to. Every reader wakes, in whatever way it waits, and nothing of the real
// connection is lost.
#pragma once

#include <string_view>

namespace filibuster::preload {

// Afterwards `answer` is readable on `fd`, and *real, a descriptor of ours, is the real connection; no
// answer of its server may be under way. nullptr: done. Else why not, and nothing has changed.
const char* put_aside(int fd, std::string_view answer, int* real);
// The real connection takes its place again, with what the application changed of its options meanwhile,
// and `real` is released. False: it cannot; the application finds its connection ended.
bool put_back(int fd, int real);

}  // namespace filibuster::preload
