#include "bpf/loader/go_tasks.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstring>

#include "bpf/loader/kernel.h"
#include "daemon/base/descriptors.h"

namespace filibuster::bpf {
namespace {

constexpr std::string_view kBuildInfo("\xff Go buildinf:", 14);
constexpr size_t kBuildInfoHeader = 32;
constexpr uint8_t kInlineVersion = 2;  // the text follows the header (Go 1.18 and later)

// A varint of encoding/binary, at the front of `bytes`, which it leaves behind.
std::optional<uint64_t> take_varint(std::string_view* bytes) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !bytes->empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes->front());
    bytes->remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

template <typename T>
std::optional<T> read_at(std::string_view bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

uint64_t rounded_up(uint64_t size, uint64_t alignment) {
  return alignment < 2 ? size : (size + alignment - 1) / alignment * alignment;
}

}  // namespace

std::string go_version_in(std::string_view program) {
  for (size_t at = program.find(kBuildInfo); at != std::string_view::npos;
       at = program.find(kBuildInfo, at + 1)) {
    std::string_view rest = program.substr(at);
    if (rest.size() < kBuildInfoHeader || (static_cast<uint8_t>(rest[15]) & kInlineVersion) == 0)
      continue;
    rest.remove_prefix(kBuildInfoHeader);
    const auto size = take_varint(&rest);
    if (size && *size <= rest.size() && rest.starts_with("go"))
      return std::string(rest.substr(0, *size));
  }
  return "";
}

std::optional<uint32_t> goid_offset(std::string_view version) {
  if (!version.starts_with("go1.")) return std::nullopt;
  version.remove_prefix(4);
  unsigned minor = 0;
  if (std::from_chars(version.data(), version.data() + version.size(), minor).ec != std::errc())
    return std::nullopt;
  // runtime/runtime2.go, on machines of 64 bits. Go 1.23 put `syscallbp` before it, and Go 1.25 took
  // `ret` out of `gobuf`, which also stands before it.
  struct Range {
    unsigned first, last;
    uint32_t offset;
  };
  static constexpr Range kRanges[] = {{9, 22, 152}, {23, 24, 160}, {25, 25, 152}};
  for (const Range& range : kRanges) {
    if (minor >= range.first && minor <= range.last) return range.offset;
  }
  return std::nullopt;
}

std::optional<int32_t> g_offset_in(std::string_view program) {
  const auto header = read_at<Elf64_Ehdr>(program, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64)
    return std::nullopt;
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    const auto segment =
        read_at<Elf64_Phdr>(program, header->e_phoff + uint64_t{i} * header->e_phentsize);
    if (!segment) return std::nullopt;
    if (segment->p_type != PT_TLS) continue;
    // The block of a program ends where FS points to. Where g is the only thing in it, it is there.
    if (rounded_up(segment->p_memsz, segment->p_align) != sizeof(uint64_t)) return std::nullopt;
  }
  return -static_cast<int32_t>(sizeof(uint64_t));
}

TasksRow go_tasks(pid_t process) {
  const UniqueFd file(open(proc_file(process, "exe").c_str(), O_RDONLY | O_CLOEXEC));
  struct stat state {};
  if (!file.valid() || fstat(file.get(), &state) != 0 || state.st_size <= 0) return {};
  const auto size = static_cast<size_t>(state.st_size);
  void* bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (bytes == MAP_FAILED) return {};
  const std::string_view program(static_cast<const char*>(bytes), size);
  const auto goid = goid_offset(go_version_in(program));
  const auto g = g_offset_in(program);
  munmap(bytes, size);
  return goid && g ? TasksRow{*g, *goid} : TasksRow{};
}

}  // namespace filibuster::bpf
