// The program that this process is about to execute: does the library enter it (core/program/entry.h)? If not, LD_PRELOAD gets a
// form for it that only glibc's loader follows, and the session's daemon is told.
//
// A call may run in a child of vfork, so nothing is kept.
#pragma once

#include <fcntl.h>
#include <limits.h>

#include <cstddef>

namespace filibuster::preload {

struct ExecutedProgram {
  const char* path;          // as the caller names it; "": `directory` itself is the program
  int directory = AT_FDCWD;  // to which the path is relative
  bool by_search = false;    // in PATH, if it has no slash
  bool elsewhere =
      false;  // what else the call does may change the folder to which the path is relative
};

// "LD_PRELOAD=..." for the environment of the program, in place of the given variable; nullptr: that one is right.
class LoaderVariable {
 public:
  LoaderVariable(char* const* environment, const ExecutedProgram& program);
  ~LoaderVariable();
  LoaderVariable(const LoaderVariable&) = delete;
  char* get() const { return text_; }

 private:
  void write(const char* given);

  char* text_ = nullptr;
  char few_[480];
  void* many_ = nullptr;
  size_t many_size_ = 0;
};

}  // namespace filibuster::preload
