// Which function, file and line an address of a Go program belongs to, and where a function begins: by the table that Go's
// runtime itself reads for its tracebacks (.gopclntab). Stripped programs have it, too.
// The headers of Go 1.16, 1.18 and 1.20 (and later) are known, for 64-bit little-endian programs (cmd/link, pcln.go;
// runtime/symtab.go). Bytes of any origin: every offset is checked, and the work is bounded by their number.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/program/elf_memory.h"
#include "core/result.h"

namespace filibuster {

struct GoFunction {
  std::string_view name;        // "net/http.(*persistConn).roundTrip"
  uint64_t entry = 0, end = 0;  // [entry, end)
};

struct GoFrame {
  std::string_view function;
  std::string_view file;  // empty: not known
  int32_t line = 0;
  bool inlined = false;  // in the frame that follows
};

// A view of the program's bytes, which live longer. All addresses are those of the file: the load bias of a position
// independent program is the caller's to subtract.
class GoTable {
 public:
  // The error names what is missing: no table, or one of another version.
  static Result<GoTable> read(const ElfMemory& program);

  // The first of this name.
  std::optional<GoFunction> function_named(std::string_view name) const;
  // The functions that one frame stands for, what is inlined first. Empty: in no function. Of a return address, one less is
  // meant: the call, not what follows.
  std::vector<GoFrame> frames_at(uint64_t address) const;
  uint64_t count() const { return count_; }  // of functions

 private:
  enum class Layout : uint8_t { k116, k118, k120 };
  struct Record {
    uint64_t entry = 0, end = 0;
    std::string_view bytes;  // of its _func, up to the end of the table
    uint32_t field(unsigned index) const;
  };
  bool open(const ElfMemory& program, std::string_view bytes, uint64_t address);
  void find_inlining(const ElfMemory& program, uint64_t address);
  uint64_t entry_of(uint64_t index) const;
  Record record(uint64_t index) const;
  std::optional<uint64_t> index_at(uint64_t address) const;
  int32_t value_at(uint32_t table, uint64_t entry, uint64_t address) const;
  std::string_view name_of(const Record& record) const;
  GoFrame place(const Record& record, uint64_t address) const;

  std::string_view names_, units_, files_, values_, functions_;
  std::string_view
      inlining_;  // the data that functions refer to; empty: inlined calls are not told apart
  uint64_t count_ = 0, text_ = 0;
  uint32_t step_ = 1;  // bytes, the smallest instruction
  Layout layout_ = Layout::k118;
};

}  // namespace filibuster
