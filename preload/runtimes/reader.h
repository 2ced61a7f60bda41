// A reader of one kind of call stack. stack.cc holds the table of them: a new runtime is a new row.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string_view>

#include "core/hash.h"

namespace filibuster::preload {

// Where a reader puts the frames it keeps, innermost first.
class FrameSink {
 public:
  FrameSink(char* buffer, size_t capacity) : buffer_(buffer), capacity_(capacity) {}

  // Concatenates the parts to one line of text. When the buffer is full, the line is dropped and the
  // stack is marked incomplete. The hash always takes part.
  void add(Hash128 hash, std::initializer_list<std::string_view> parts) {
    hash_ = frames_ == 0 ? hash : combine(hash_, hash);
    ++frames_;
    size_t size = 1;
    for (std::string_view part : parts) size += part.size();
    if (size > capacity_ - used_) {
      incomplete_ = true;
      return;
    }
    char* line = buffer_ + used_;
    for (std::string_view part : parts) {
      std::memcpy(buffer_ + used_, part.data(), part.size());
      used_ += part.size();
    }
    // One line is one frame, even if the name of a file contains a line feed.
    while (void* end = std::memchr(line, '\n', static_cast<size_t>(buffer_ + used_ - line)))
      *static_cast<char*>(end) = ' ';
    buffer_[used_++] = '\n';
  }
  void mark_incomplete() { incomplete_ = true; }
  // Forgets what was added.
  void clear() {
    frames_ = 0;
    used_ = 0;
    incomplete_ = of_libraries_ = false;
    hash_ = Hash128{};
  }
  // Begins anew, with the frames of libraries, since there are no others.
  void begin_with_libraries() {
    clear();
    of_libraries_ = true;
  }

  // For a stack that is known as a whole: where its text goes, and what it is.
  char* room() { return buffer_; }
  size_t capacity() const { return capacity_; }
  void hold(Hash128 hash, size_t text_size) {
    clear();
    hash_ = hash;
    used_ = text_size;
    frames_ = static_cast<uint32_t>(std::count(buffer_, buffer_ + text_size, '\n'));
  }

  Hash128 hash() const { return hash_; }
  uint32_t frames() const { return frames_; }
  size_t text_size() const { return used_; }
  bool incomplete() const { return incomplete_; }
  bool of_libraries() const { return of_libraries_; }

 private:
  char* buffer_;
  size_t capacity_;
  size_t used_ = 0;
  uint32_t frames_ = 0;
  bool incomplete_ = false;
  bool of_libraries_ = false;
  Hash128 hash_;
};

struct StackReader {
  // Once per process, at registration; a text for people ("cpython 3.11.2"), empty if there is no
  // such runtime here.
  std::string_view (*prepare)();
  // False: this thread runs nothing of this runtime (the next reader is asked).
  bool (*read)(FrameSink* sink);
};

extern const StackReader kAttachedReader;  // attached/stack.cc
extern const StackReader kNativeReader;    // native/stack.cc
extern const StackReader kCpythonReader;   // cpython/stack.cc
extern const StackReader kJvmReader;       // jvm/stack.cc
extern const StackReader kRubyReader;      // ruby/stack.cc
extern const StackReader kPhpReader;       // php/stack.cc

}  // namespace filibuster::preload
