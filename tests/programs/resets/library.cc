// A library of `leaks`: it is taken apart at the end of each execution.
#include "tests/programs/resets/execution.h"

namespace {
struct Library {
  ~Library();
} library;
}  // namespace

extern "C" {
int leaks_value = 1;
bool leaks_has_ends = false;
}

namespace {
Library::~Library() {
  if (leaks_has_ends) add_line("ends", "library");
}
}  // namespace
