#include "daemon/agents/symbolize.h"

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

#define HAVE_DECL_BASENAME 1  // libiberty declares one that contradicts <cstring>'s
#include <libiberty/demangle.h>

namespace filibuster {
namespace {

// Bounds the memory of an application with ever new code (a JIT).
constexpr size_t kMaxCached = 200'000;

char* no_debuginfo_path = nullptr;

// The CRC of a .gnu_debuglink section: IEEE 802.3, of the whole file.
uint32_t crc_of_file(int fd) {
  uint32_t crc = ~0u;
  unsigned char buffer[64 * 1024];
  for (ssize_t size; (size = ::read(fd, buffer, sizeof buffer)) > 0;) {
    for (ssize_t i = 0; i < size; ++i) {
      crc ^= buffer[i];
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB88320u : 0);
    }
  }
  ::lseek(fd, 0, SEEK_SET);
  return ~crc;
}

// Is `fd` the debug file of `module`? The build-id tells, or the checksum where the program has none.
bool belongs_to(int fd, Dwfl_Module* module, GElf_Word crc) {
  const unsigned char* id = nullptr;
  GElf_Addr address = 0;
  const int size = dwfl_module_build_id(module, &id, &address);
  if (size <= 0) return crc_of_file(fd) == crc;
  Elf* elf = elf_begin(fd, ELF_C_READ, nullptr);
  const void* other = nullptr;
  const ssize_t other_size = elf != nullptr ? dwelf_elf_gnu_build_id(elf, &other) : -1;
  const bool same = other_size == size && std::memcmp(other, id, static_cast<size_t>(size)) == 0;
  if (elf != nullptr) elf_end(elf);
  return same;
}

// Debug files by build-id under /usr/lib/debug, then by name beside the program, as gdb looks for
// them. Not libdwfl's standard search: it would ask debuginfod servers, and nothing leaves this
// machine.
int find_debuginfo(Dwfl_Module* module, void** user_data, const char* name, Dwarf_Addr base,
                   const char* file, const char* link, GElf_Word crc, char** found) {
  const int by_id =
      dwfl_build_id_find_debuginfo(module, user_data, name, base, file, link, crc, found);
  if (by_id >= 0 || *found != nullptr) return by_id;
  if (file == nullptr || link == nullptr || std::strchr(link, '/') != nullptr) return -1;
  const std::string path = file;
  const std::string folder = path.substr(0, path.find_last_of('/') + 1);
  for (const std::string& candidate :
       {folder + link, folder + ".debug/" + link, "/usr/lib/debug" + folder + link}) {
    const int fd = ::open(candidate.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) continue;
    if (belongs_to(fd, module, crc)) {
      *found = ::strdup(candidate.c_str());
      return fd;
    }
    ::close(fd);
  }
  return -1;
}

const Dwfl_Callbacks kCallbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = find_debuginfo,
    .section_address = dwfl_offline_section_address,
    .debuginfo_path = &no_debuginfo_path,
};

// C++ (Itanium ABI), and both of Rust's manglings: the legacy one looks like C++ with a hash at the end.
std::string demangled(const char* name) {
  int status = 0;
  char* text = rust_demangle(name, 0);
  if (text == nullptr) text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string out = text != nullptr ? text : name;
  std::free(text);
  return out;
}

std::string hex(uint64_t number) {
  char text[16];
  const auto end = std::to_chars(text, text + sizeof text, number, 16).ptr;
  return "0x" + std::string(text, end);
}

std::string hex_bytes(const unsigned char* bytes, int size) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (int i = 0; i < size; ++i) {
    out += kDigits[bytes[i] >> 4];
    out += kDigits[bytes[i] & 15];
  }
  return out;
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

// "users.py:31 get_bookings": the first ":DIGITS " ends the place; a function may hold colons.
std::string runtime_frame(std::string_view rest) {
  for (size_t colon = rest.find(':'); colon != rest.npos; colon = rest.find(':', colon + 1)) {
    const size_t end = rest.find_first_not_of("0123456789", colon + 1);
    if (end == rest.npos || end == colon + 1 || rest[end] != ' ') continue;
    return std::string(rest.substr(0, end)) + " (" + std::string(rest.substr(end + 1)) + ")";
  }
  return std::string(rest);
}

// Is the path, or the path that begins the line, that of a library? Headers of the system are, and what
// protoc has generated.
bool is_of_library(std::string_view path) {
  path = path.substr(0, path.find(':'));
  return path.starts_with("/usr/include/") || path.ends_with(".pb.cc") || path.ends_with(".pb.h");
}

}  // namespace

// One ELF file, reported at its own addresses.
class Symbolizer::Module {
 public:
  explicit Module(const std::string& path) {
    // A device or a pipe under that name must not block us.
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return;
    dwfl_ = dwfl_begin(&kCallbacks);
    if (dwfl_ == nullptr) {
      ::close(fd);
      return;
    }
    dwfl_report_begin(dwfl_);
    module_ = dwfl_report_offline(dwfl_, path.c_str(), path.c_str(), fd);
    if (module_ == nullptr) ::close(fd);  // on success libdwfl owns it
    dwfl_report_end(dwfl_, nullptr, nullptr);
    if (module_ == nullptr) return;
    GElf_Addr bias = 0;
    if (dwfl_module_getelf(module_, &bias) == nullptr) {
      module_ = nullptr;
      return;
    }
    bias_ = bias;
    const unsigned char* id = nullptr;
    GElf_Addr address = 0;
    const int size = dwfl_module_build_id(module_, &id, &address);
    if (size > 0) build_id_ = hex_bytes(id, size);
  }
  ~Module() {
    if (dwfl_ != nullptr) dwfl_end(dwfl_);
  }
  Module(const Module&) = delete;

  // Agents may send a prefix of the build-id, or none.
  bool is(std::string_view build_id) const {
    return module_ != nullptr && std::string_view(build_id_).substr(0, build_id.size()) == build_id;
  }

  // "file:line (function)", as much of it as is known; `fallback` stands for an unknown place. For
  // inlined code this is the innermost place that is not in a library, with the function it is in.
  std::string describe(uint64_t offset, const std::string& fallback) const {
    // Frames hold return addresses: the call is in front of them.
    const Dwarf_Addr address = bias_ + offset - (offset > 0 ? 1 : 0);
    std::string function;
    Dwarf_Addr bias = 0;
    Dwarf_Die* unit = unit_at(address, &bias);
    Place place = unit != nullptr ? innermost(unit, address - bias) : Place();
    Dwarf_Die* scopes = nullptr;
    const int count = unit != nullptr ? dwarf_getscopes(unit, address - bias, &scopes) : 0;
    for (int i = 0; i < count; ++i) {
      if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine) continue;
      function = function_name(&scopes[i]);
      if (!is_of_library(place.file)) break;
      if (!called_at(unit, &scopes[i], &place)) break;
      function.clear();  // the symbol names the caller, unless the caller is inlined, too
    }
    std::free(scopes);
    if (function.empty()) {
      const char* name = dwfl_module_addrname(module_, address);
      if (name != nullptr) function = demangled(name);
    }
    const std::string where =
        place.line > 0 ? place.file + ":" + std::to_string(place.line) : fallback;
    return function.empty() ? where : where + " (" + function + ")";
  }

 private:
  struct Place {
    std::string file;
    int line = 0;
  };

  // The compilation unit with the code at `address`, and what is to be subtracted from addresses in it.
  Dwarf_Die* unit_at(Dwarf_Addr address, Dwarf_Addr* bias) const {
    if (Dwarf_Die* unit = dwfl_module_addrdie(module_, address, bias)) return unit;
    // clang writes no .debug_aranges, in which libdwfl looks.
    if (!ranges_) ranges_ = unit_ranges();
    const auto after =
        std::upper_bound(ranges_->begin(), ranges_->end(), address,
                         [](Dwarf_Addr at, const UnitRange& range) { return at < range.begin; });
    if (after == ranges_->begin() || address >= std::prev(after)->end) return nullptr;
    *bias = std::prev(after)->bias;
    return std::prev(after)->unit;
  }

  struct UnitRange {
    Dwarf_Addr begin, end;
    Dwarf_Die* unit;  // libdwfl owns it
    Dwarf_Addr bias;
  };
  std::vector<UnitRange> unit_ranges() const {
    std::vector<UnitRange> out;
    Dwarf_Addr bias = 0;
    for (Dwarf_Die* unit = dwfl_module_nextcu(module_, nullptr, &bias); unit != nullptr;
         unit = dwfl_module_nextcu(module_, unit, &bias)) {
      Dwarf_Addr base = 0, begin = 0, end = 0;
      for (ptrdiff_t at = 0; (at = dwarf_ranges(unit, at, &base, &begin, &end)) > 0;)
        out.push_back({begin + bias, end + bias, unit, bias});
    }
    std::sort(out.begin(), out.end(),
              [](const UnitRange& a, const UnitRange& b) { return a.begin < b.begin; });
    return out;
  }

  // `address`: as the unit counts.
  static Place innermost(Dwarf_Die* unit, Dwarf_Addr address) {
    Place place;
    Dwarf_Line* line = dwarf_getsrc_die(unit, address);
    const char* file = line != nullptr ? dwarf_linesrc(line, nullptr, nullptr) : nullptr;
    if (file == nullptr || dwarf_lineno(line, &place.line) != 0) return {};
    place.file = file;
    return place;
  }

  // Where an inlined function was called (DW_AT_call_file, DW_AT_call_line). False: not said.
  static bool called_at(Dwarf_Die* unit, Dwarf_Die* inlined, Place* place) {
    Dwarf_Attribute attribute;
    Dwarf_Word file = 0, line = 0;
    Dwarf_Files* files = nullptr;
    if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &file) != 0 ||
        dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &line) != 0 ||
        dwarf_getsrcfiles(unit, &files, nullptr) != 0) {
      return false;
    }
    const char* name = dwarf_filesrc(files, file, nullptr, nullptr);
    if (name == nullptr) return false;
    *place = {name, static_cast<int>(line)};
    return true;
  }

  static std::string function_name(Dwarf_Die* function) {
    Dwarf_Attribute attribute;
    const char* name =
        dwarf_formstring(dwarf_attr_integrate(function, DW_AT_linkage_name, &attribute));
    if (name != nullptr) return demangled(name);
    name = dwarf_diename(function);
    return name == nullptr ? std::string() : name;
  }

  Dwfl* dwfl_ = nullptr;
  Dwfl_Module* module_ = nullptr;
  Dwarf_Addr bias_ = 0;
  std::string build_id_;
  mutable std::optional<std::vector<UnitRange>> ranges_;  // nullopt: not yet needed
};

Symbolizer::Symbolizer() = default;
Symbolizer::~Symbolizer() = default;

std::string Symbolizer::line(const std::string& frame) {
  const std::lock_guard lock(mutex_);
  if (const auto known = cache_.find(frame); known != cache_.end()) return known->second;
  const std::string_view text = frame;
  std::string out = text.starts_with("F ")   ? runtime_frame(text.substr(2))
                    : text.starts_with("N ") ? native(text.substr(2))
                                             : frame;
  if (cache_.size() >= kMaxCached) cache_.clear();
  cache_.emplace(frame, out);
  return out;
}

// Leaves out the innermost frames of templates and inline functions of a library: they are not the
// program's call site.
void Symbolizer::lines(std::vector<std::string>* frames) {
  for (std::string& frame : *frames) frame = line(frame);
  const auto own = std::find_if_not(frames->begin(), frames->end(), is_of_library);
  if (own != frames->end()) frames->erase(frames->begin(), own);
}

// "buildid+offset path", both numbers hexadecimal.
std::string Symbolizer::native(std::string_view frame) {
  const size_t plus = frame.find('+');
  const size_t space = frame.find(' ');
  if (plus == std::string_view::npos || space == std::string_view::npos || space < plus) {
    return std::string(frame);
  }
  std::string_view build_id = frame.substr(0, plus);
  std::string_view digits = frame.substr(plus + 1, space - plus - 1);
  if (digits.starts_with("0x")) digits.remove_prefix(2);
  const std::string path(frame.substr(space + 1));
  uint64_t offset = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), offset, 16);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::string(frame);
  std::string fallback = std::string(base_name(path)) + "+" + hex(offset);
  if (path.empty() || path[0] != '/') return fallback;
  auto& module = modules_[path];
  if (module == nullptr) module = std::make_unique<Module>(path);
  if (build_id.find_first_not_of("0123456789abcdef") != std::string_view::npos) build_id = {};
  if (module->is(build_id)) return module->describe(offset, fallback);
  // The file may have been built anew since it was opened: the new one is looked at.
  module = std::make_unique<Module>(path);
  return module->is(build_id) ? module->describe(offset, fallback) : fallback;
}

}  // namespace filibuster
