#include "daemon/proxy/go_lines.h"

#include <memory>

#include "core/program/elf_image.h"
#include "core/program/elf_memory.h"
#include "core/program/go_table.h"
#include "core/program/mapped_file.h"
#include "core/program/whole_file.h"

namespace filibuster::proxy {
namespace {

bool is_go(const std::string& path) {
  const MappedFile file(path);
  const auto image = read_elf(file.bytes());
  return image && image->go;
}

// The table is a view of the program's bytes. They are a copy: a file that is overwritten in place must not end
// this process.
struct Program {
  std::string bytes;
  std::optional<GoTable> table;
};

std::string lines_at(const Program& program, uint64_t address) {
  std::string out;
  for (const GoFrame& frame : program.table->frames_at(address)) {
    if (!out.empty()) out += "\nF ";
    out += std::string(frame.file.empty() ? "?" : frame.file) + ":" + std::to_string(frame.line) +
           " " + std::string(frame.function);
  }
  return out;
}

}  // namespace

GoLine go_lines(const std::string& path) {
  if (!is_go(path)) return {};
  const auto program = std::make_shared<Program>();
  program->bytes = whole_file(path);
  const auto memory = ElfMemory::read(program->bytes);
  if (!memory) return {};
  auto table = GoTable::read(*memory);
  if (!table) return {};
  program->table = std::move(table).value();
  return [program](uint64_t address) { return lines_at(*program, address); };
}

}  // namespace filibuster::proxy
