// A file that is to be started: an ELF program, a script, or anything else. What is told of it must
// lie inside it.
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <vector>

#include "core/program/elf_image.h"
#include "core/program/interpreter_line.h"

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
  const std::vector<char> copy(data, data + size);  // exactly as long: overreads are seen
  const std::string_view bytes(copy.data(), copy.size());
  const std::vector<std::string_view> line = interpreter_line(bytes);
  for (const std::string_view word : line) check_inside(bytes, word);
  check_inside(bytes, after_env(line));
  if (!line.empty()) is_env(line[0]);

  const auto image = read_elf(bytes);
  if (!image) return 0;
  if (!line.empty()) std::abort();  // never both
  check_inside(bytes, image->interpreter);
  check_inside(bytes, image->asan_runtime());
  for (const auto* texts : {&image->needed, &image->versions}) {
    if (texts->size() > 10'000) std::abort();
    for (const std::string_view text : *texts) check_inside(bytes, text);
  }
  highest_glibc(image->versions);
  return 0;
}
