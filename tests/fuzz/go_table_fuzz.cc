// A program of Go: its tables and what it says of itself. What is told of it must lie inside it, and the first eight bytes of
// an input are the address that is asked for.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "core/program/go_program.h"
#include "core/program/go_table.h"

namespace {

void check_inside(std::string_view whole, std::string_view part) {
  const std::less_equal<const char*> before;
  if (part.empty()) return;
  if (!before(whole.data(), part.data()) ||
      !before(part.data() + part.size(), whole.data() + whole.size())) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace filibuster;
  uint64_t address = 0;
  if (size < sizeof address) return 0;
  std::memcpy(&address, data, sizeof address);
  const std::vector<char> copy(data + sizeof address,
                               data + size);  // exactly as long: overreads are seen
  const std::string_view bytes(copy.data(), copy.size());
  const auto program = ElfMemory::read(bytes);
  if (!program) return 0;
  if (const auto go = read_go_program(*program)) {
    check_inside(bytes, go->version);
    check_inside(bytes, go->build_id);
    goid_offset(go->version);
  }
  const auto table = GoTable::read(*program);
  if (!table) return 0;
  const auto check = [&](uint64_t at) {
    const auto frames = table->frames_at(at);
    for (const GoFrame& frame : frames) {
      check_inside(bytes, frame.function);
      check_inside(bytes, frame.file);
    }
  };
  check(address);
  if (const auto work = table->function_named("main.work")) {
    const uint64_t at = work->entry + (address & 0xff);
    check(at);
    const auto frames = table->frames_at(at);
    if (at < work->end && !frames.empty() && !frames.back().inlined &&
        frames.back().function != work->name)
      std::abort();
  }
  return 0;
}
