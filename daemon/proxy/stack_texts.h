// Call stacks of attached processes as the agent's door takes them (preload/runtimes/attached/door.h): addresses
// become the build id of their module and the address in its file, or lines of Go. Each stack is made text once.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/program/elf_segments.h"

namespace filibuster::proxy {

// An executable mapping of a process.
struct Mapping {
  uint64_t begin = 0, end = 0;
  uint64_t offset = 0;  // in the file
  std::string path;     // empty: no file
};
// The executable ones of the text of /proc/PID/maps, by address.
std::vector<Mapping> executable_mappings(std::string_view maps);

// "file:line function" of the address in a Go program, as its file gives addresses; empty: not known. The
// frames of inlined calls come first, each on a line of its own that begins with "F ".
using GoLine = std::function<std::string(uint64_t address)>;
// What knows the lines of the program at `path`; nullptr: it is no Go program.
using GoLines = std::function<GoLine(const std::string& path)>;

class StackTexts {
 public:
  explicit StackTexts(GoLines go = {}) : go_(std::move(go)) {}

  static constexpr size_t kMost = 65536;  // stacks

  // The number of the stack, which is the same for the same stack of the same process. 0: it is empty, or there
  // are too many.
  uint32_t number(uint32_t process, std::span<const uint64_t> addresses, bool no_frame_pointers);
  // Valid for as long as this object.
  std::string_view text(uint32_t number) const;
  // The process has ended: its number may be given to another one.
  void exited(uint32_t process);

 private:
  struct Module {
    std::optional<ElfSegments> segments;
    GoLine go;
  };
  struct Process {
    std::vector<Mapping> mappings;
    std::unordered_map<std::string, uint32_t> numbers;  // by the bytes of the addresses
  };
  std::string line(const Process& process, uint32_t pid, uint64_t address);
  const Module& module(uint32_t pid, const std::string& path);

  GoLines go_;
  std::unordered_map<uint32_t, Process> processes_;
  std::map<std::string, std::unique_ptr<Module>> modules_;  // by process and path
  std::deque<std::string> texts_;
  std::unordered_map<std::string_view, uint32_t> by_text_;
};

}  // namespace filibuster::proxy
