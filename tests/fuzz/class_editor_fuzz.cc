// One byte that chooses edits, then a class file: whatever it holds is edited within bounds or
// refused. Without edits it stays as it is; what was edited is a class file again.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "preload/runtimes/jvm/class_editor.h"

namespace {

using namespace filibuster::preload::jvm;

void demand(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", what);
  std::abort();
}

constexpr Method kMain{"Seed", "main", "([Ljava/lang/String;)V"};
constexpr Method kRun{"Seed", "run", "(Ljava/lang/Object;)V"};
constexpr Method kHelper{"x/Helper", "help", "()V"};
constexpr Edit kEdits[] = {
    {kMain, Edit::Kind::kEnter, false, 0, {}, kHelper},
    {kRun, Edit::Kind::kArgument, true, 1, {}, kHelper},
    {kRun, Edit::Kind::kCall, false, 0, {"java/lang/Runnable", "run", "()V"}, kHelper},
    {{"Seed", "run", "(Ljava/lang/Object;*"}, Edit::Kind::kSee, true, 1, {}, kHelper},
};

std::vector<uint8_t> edited(std::span<const uint8_t> file, std::span<const Edit> edits) {
  static std::vector<uint32_t> scratch(65536);
  std::vector<uint8_t> out(file.size() + kEditRoom);
  out.resize(edit_class(file, edits, scratch, out).size);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const std::span<const uint8_t> file(data + 1, size - 1);
  const std::vector<uint8_t> same = edited(file, {});
  demand(same.empty() || std::equal(same.begin(), same.end(), file.begin(), file.end()),
         "no edits, the same file");
  const std::span<const Edit> edits = std::span(kEdits).subspan(data[0] % 4);
  const std::vector<uint8_t> once = edited(file, edits);
  if (once.empty()) return 0;
  demand(!same.empty(), "what can be edited can be read");
  demand(edited(once, {}) == once, "an edited file is one");
  return 0;
}
