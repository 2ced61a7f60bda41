#include "core/protocol/shared_clock.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

namespace filibuster {
namespace {

constexpr auto kSystemCall = [](long number, auto... arguments) {
  const long result = ::syscall(number, arguments...);
  return result < 0 ? -static_cast<long>(errno) : result;
};
// What the clock must do without.
constexpr auto kNoSystemCall = [](long, auto...) -> long {
  ADD_FAILURE() << "a system call";
  return -ENOSYS;
};

uint64_t by_system_call() {
  timespec now{};
  ::syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

TEST(SharedClock, ReadsTheClockOfTheMachine) {
  SharedClock clock;
  const auto* image = reinterpret_cast<const void*>(::getauxval(AT_SYSINFO_EHDR));
  for (const void* mapped : {static_cast<const void*>(nullptr), image}) {
    clock.use_vdso(mapped);
    const uint64_t before = by_system_call();
    const uint64_t read = clock.now_ns(kSystemCall);
    EXPECT_LE(before, read);
    EXPECT_LE(read, by_system_call());
  }
}

TEST(SharedClock, MakesNoSystemCallWhereTheKernelHasMappedItsCode) {
  const auto* image = reinterpret_cast<const void*>(::getauxval(AT_SYSINFO_EHDR));
  if (image == nullptr) GTEST_SKIP() << "the kernel maps nothing here (vdso=0)";
  SharedClock clock;
  clock.use_vdso(image);
  EXPECT_NE(clock.now_ns(kNoSystemCall), 0u);
  EXPECT_NE(clock.read_ns(CLOCK_BOOTTIME, kNoSystemCall), 0u);
}

// The files of a process in a time namespace, as system calls read them.
struct Files {
  std::string own = "time:[4026531834]", of_children = own, offsets;
  long operator()(long number, int, const char* path, char* out, size_t room) const {
    EXPECT_EQ(number, SYS_readlinkat);
    const std::string& text = std::string_view(path) == "/proc/self/ns/time" ? own : of_children;
    return static_cast<long>(text.copy(out, room));
  }
  long operator()(long number, int, const char* path, int, int) const {
    EXPECT_EQ(number, SYS_openat);
    EXPECT_EQ(std::string_view(path), "/proc/self/timens_offsets");
    return offsets.empty() ? -ENOENT : 7;
  }
  long operator()(long number, long, char* out, size_t room) const {
    EXPECT_EQ(number, SYS_read);
    return static_cast<long>(offsets.copy(out, room));
  }
  long operator()(long number, long) const {
    EXPECT_EQ(number, SYS_close);
    return 0;
  }
};

bool is_off_by(const SharedClock& clock, int64_t offset) {
  const uint64_t before = by_system_call();
  const uint64_t read = clock.now_ns(kSystemCall) + static_cast<uint64_t>(offset);
  return before <= read && read <= by_system_call();
}

TEST(SharedClock, TakesTheOffsetOfItsTimeNamespaceOff) {
  SharedClock clock;
  clock.find_namespace(Files{});  // a kernel without time namespaces
  EXPECT_TRUE(is_off_by(clock, 0));
  Files files;
  files.offsets = "monotonic         100        20\nboottime            7         0\n";
  clock.find_namespace(files);
  EXPECT_TRUE(is_off_by(clock, 100'000'000'020));
  files.offsets = "monotonic        -100         0\n";
  clock.find_namespace(files);
  EXPECT_TRUE(is_off_by(clock, -100'000'000'000));
}

TEST(SharedClock, OffsetsOfItsChildrenAreNotItsOwn) {
  SharedClock clock;
  Files files;
  files.offsets = "monotonic 100 0\n";
  files.of_children = "time:[4026532999]";  // it has called unshare() itself
  clock.find_namespace(files);
  EXPECT_TRUE(is_off_by(clock, 0));
}

TEST(SharedClock, OffsetsAreReadAsTheKernelWritesThem) {
  EXPECT_EQ(monotonic_offset_ns("boottime 1 2\nmonotonic           3         4\n"), 3'000'000'004);
  EXPECT_EQ(monotonic_offset_ns("monotonic -1 500000000"), -500'000'000);
  for (const char* text : {"", "monotonic", "monotonic 1", "monotonic x 1", "boottime 1 2\n",
                           "monotonic 99999999999999999 0"})
    EXPECT_EQ(monotonic_offset_ns(text), std::nullopt) << text;
}

TEST(Vdso, FindsAFunctionByTheNameAlone) {
  const auto* image = reinterpret_cast<const void*>(::getauxval(AT_SYSINFO_EHDR));
  EXPECT_EQ(vdso_function(image, "__vdso_clock_get"), nullptr);
  EXPECT_EQ(vdso_function(nullptr, "f"), nullptr);
  EXPECT_EQ(vdso_function("no ELF file at all", "f"), nullptr);
}

// An image with one hash table, as a linker makes it: all its tables are in one segment, which is moved.
struct Image {
  static constexpr Elf64_Addr kLinkedAt = 0x10000;
  Elf64_Ehdr header{};
  Elf64_Phdr segments[2]{};
  Elf64_Dyn dynamic[4]{};
  Elf64_Sym symbols[4]{};
  char names[16] = "\0f\0g\0data";
  uint32_t hash[16]{};

  Elf64_Addr address_of(const void* part) const {
    return kLinkedAt + static_cast<Elf64_Addr>(static_cast<const char*>(part) -
                                               reinterpret_cast<const char*>(this));
  }
  Image(int64_t tag, std::vector<uint32_t> words) {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_phoff = sizeof header;
    header.e_phnum = 2;
    segments[0].p_type = PT_LOAD;
    segments[0].p_vaddr = kLinkedAt;
    segments[1].p_type = PT_DYNAMIC;
    segments[1].p_offset = address_of(dynamic) - kLinkedAt;
    dynamic[0] = {DT_STRTAB, {address_of(names)}};
    dynamic[1] = {DT_SYMTAB, {address_of(symbols)}};
    dynamic[2] = {tag, {address_of(hash)}};
    const unsigned char function = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbols[1] = {1, function, 0, SHN_UNDEF, 0, 0};
    symbols[2] = {5, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 0, 1, kLinkedAt + 8, 8};
    symbols[3] = {3, function, 0, 1, kLinkedAt + 16, 8};
    std::copy(words.begin(), words.end(), hash);
  }
};

TEST(Vdso, ReadsEitherHashTable) {
  const Image tables[] = {
      Image(DT_HASH, {1, 4, 3, 0, 0, 0, 0}),
      // Two buckets, symbols from 1, one word of the filter; the chains 1-2 and 3 end where the lowest bit is set.
      Image(DT_GNU_HASH, {2, 1, 1, 0, 0, 0, 1, 3, 2, 3, 5})};
  for (const Image& image : tables) {
    EXPECT_EQ(vdso_function(&image, "g"), reinterpret_cast<const char*>(&image) + 16);
    EXPECT_EQ(vdso_function(&image, "f"), nullptr) << "it is used there, not defined";
    EXPECT_EQ(vdso_function(&image, "data"), nullptr) << "it is no function";
  }
}

}  // namespace
}  // namespace filibuster
