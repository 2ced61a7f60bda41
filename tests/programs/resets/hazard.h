// A hazard of `leaks` (leaks.cc): what a test leaves behind, and how it is looked for. Each file has the hazards of one subject.
#pragma once

#include <sys/mman.h>

#include <vector>

#include "tests/programs/resets/execution.h"

extern "C" {
extern int leaks_value;  // library.cc
extern bool leaks_has_ends;
}

constexpr size_t kPage = 4096, kPages = 256, kBytes = kPage * kPages;

struct Hazard {
  virtual ~Hazard() = default;
  virtual void prepare() {}                           // before 'go'
  virtual std::string find() { return ""; }           // what an earlier execution has left
  virtual void leave([[maybe_unused]] int status) {}  // before the exit
};

struct Entry {
  const char* name;
  Hazard* (*make)();
};

template <typename T>
Hazard* make() {
  return new T();
}

std::vector<Entry> memory_hazards();
std::vector<Entry> kernel_state_hazards();
std::vector<Entry> descriptor_hazards();
std::vector<Entry> process_hazards();
std::vector<Entry> end_hazards();

// Of main(): an int of its stack, which is 1, and errno as it was after connect(2).
inline volatile int* g_stack = nullptr;
inline int g_error_of_connect = 0;

inline std::string leak_if(bool leaked, const char* what) {
  return leaked ? what : "";
}

inline void need(bool there, const char* what) {
  if (there) return;
  fprintf(stderr, "NOT CHECKED: %s\n", what);
  exit(77);
}

inline void check(bool done, const char* what) {
  if (!done) fail(what);
}

inline char* new_pages(size_t bytes, int rights = PROT_READ | PROT_WRITE, void* at = nullptr,
                       int flags = 0, int file = -1) {
  void* made =
      mmap(at, bytes, rights, MAP_PRIVATE | (file < 0 ? MAP_ANONYMOUS : 0) | flags, file, 0);
  check(made != MAP_FAILED, "mmap");
  return static_cast<char*>(made);
}

// Memory that is as it was filled before 'go'.
struct Filled : Hazard {
  char* memory = nullptr;
  char value = 'p';
  void prepare() override {
    memory = new_pages(kBytes);
    memset(memory, value, kBytes);
  }
  std::string find() override {
    for (size_t i = 0; i < kBytes; ++i)
      if (memory[i] != value)
        return "byte " + std::to_string(i) + " is " + std::to_string(memory[i]);
    return "";
  }
  void drop() const { check(madvise(memory, kBytes, MADV_DONTNEED) == 0, "madvise"); }
  void read(size_t step) const {
    for (size_t page = 0; page < kPages; page += step)
      check(*static_cast<volatile char*>(memory + page * kPage) == 0, "a page of zeros");
  }
  void protect(int rights) const { check(mprotect(memory, kBytes, rights) == 0, "mprotect"); }
};
