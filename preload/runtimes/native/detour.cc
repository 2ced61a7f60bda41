#include "preload/runtimes/native/detour.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstring>

#include "preload/os/raw_syscall.h"

namespace filibuster::preload {
namespace {

constexpr size_t kJump = 5;      // jmp rel32
constexpr size_t kFarJump = 14;  // jmp [rip+0] and the address
constexpr size_t kPage = 4096;
constexpr int64_t kReach = int64_t{1} << 31;  // of rel32

void put_far_jump(uint8_t* at, const void* to) {
  constexpr uint8_t kCode[] = {0xff, 0x25, 0, 0, 0, 0};
  std::memcpy(at, kCode, sizeof kCode);
  std::memcpy(at + sizeof kCode, &to, sizeof to);
}

// The size of the operand that a ModRM byte announces, with its own byte; 0: relative to the instruction.
size_t modrm_size(const uint8_t* modrm) {
  const unsigned mod = *modrm >> 6, rm = *modrm & 7;
  if (mod == 3) return 1;
  if (mod == 0 && rm == 5) return 0;
  size_t size = 1;
  bool wide_base = false;
  if (rm == 4) {
    wide_base = mod == 0 && (modrm[1] & 7) == 5;
    ++size;
  }
  if (mod == 1) return size + 1;
  return size + (mod == 2 || wide_base ? 4 : 0);
}

// The size of an instruction that means the same anywhere; 0: it is none that is known.
size_t plain_size(const uint8_t* code) {
  if (std::memcmp(code, "\xf3\x0f\x1e\xfa", 4) == 0) return 4;  // endbr64
  size_t prefix = 0;
  if ((code[0] & 0xf0) == 0x40) prefix = 1;  // REX
  const uint8_t* op = code + prefix;
  const auto with_modrm = [&](size_t immediate) -> size_t {
    const size_t operand = modrm_size(op + 1);
    return operand == 0 ? 0 : prefix + 1 + operand + immediate;
  };
  if (*op >= 0x50 && *op <= 0x5f) return prefix + 1;  // push, pop
  if (*op >= 0xb8 && *op <= 0xbf && (code[0] & 0xf8) != 0x48)
    return prefix + 1 + 4;  // mov r32, imm32
  switch (*op) {
    case 0x01:
    case 0x03:
    case 0x09:
    case 0x0b:
    case 0x21:
    case 0x23:
    case 0x29:
    case 0x2b:
    case 0x31:
    case 0x33:
    case 0x39:
    case 0x3b:
    case 0x63:
    case 0x85:
    case 0x89:
    case 0x8b:
    case 0x8d:
      return with_modrm(0);
    case 0x83:
    case 0xc1:
      return with_modrm(1);
    case 0x81:
    case 0xc7:
      return with_modrm(4);
    default:
      return 0;
  }
}

}  // namespace

bool move_instructions(const uint8_t* code, const uint8_t* at, MovedCode* out) {
  out->size = out->taken = 0;
  while (out->taken < kJump) {
    const uint8_t* from = code + out->taken;
    uint8_t* to = out->bytes + out->size;
    // A short conditional jump becomes a long one to the same place.
    if (*from >= 0x70 && *from <= 0x7f) {
      const uint8_t* target = from + 2 + static_cast<int8_t>(from[1]);
      const int64_t distance = target - (at + out->size + 6);
      if (distance >= kReach || distance < -kReach || target < code + kJump) return false;
      const auto relative = static_cast<int32_t>(distance);
      to[0] = 0x0f;
      to[1] = static_cast<uint8_t>(0x80 | (*from & 0xf));
      std::memcpy(to + 2, &relative, sizeof relative);
      out->size += 6;
      out->taken += 2;
      continue;
    }
    const size_t size = plain_size(from);
    if (size == 0) return false;
    std::memcpy(to, from, size);
    out->size += size;
    out->taken += size;
  }
  return true;
}

namespace {

// A page that a jump from `near` reaches.
uint8_t* page_near(const uint8_t* near) {
  const auto base = reinterpret_cast<uintptr_t>(near) & ~(kPage - 1);
  constexpr uintptr_t kStep = 1 << 20, kFarthest = 1 << 30;
  for (uintptr_t distance = kStep; distance < kFarthest; distance += kStep) {
    for (const uintptr_t wanted : {base + distance, base - distance}) {
      if (wanted > base + kFarthest || wanted < kPage) continue;
      const long got = raw_syscall(SYS_mmap, wanted, kPage, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0L);
      if (got > 0 && static_cast<uintptr_t>(got) == wanted) return reinterpret_cast<uint8_t*>(got);
      if (got > 0) raw_syscall(SYS_munmap, got, kPage);  // an old kernel takes it for a hint
    }
  }
  return nullptr;
}

// Overwrites code at once, so that a thread sees all of the jump or nothing of it.
bool overwrite(uint8_t* code, const uint8_t (&jump)[kJump]) {
  const auto address = reinterpret_cast<uintptr_t>(code);
  if (address % 8 != 0) return false;
  const uintptr_t page = address & ~(kPage - 1);
  if (raw_syscall(SYS_mprotect, page, kPage, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return false;
  uint64_t word;
  std::memcpy(&word, code, sizeof word);
  std::memcpy(&word, jump, sizeof jump);
  __atomic_store_n(reinterpret_cast<uint64_t*>(code), word, __ATOMIC_SEQ_CST);
  raw_syscall(SYS_mprotect, page, kPage, PROT_READ | PROT_EXEC);
  return true;
}

}  // namespace

bool detour(void* function, void* ours, void** original) {
#ifdef __x86_64__
  auto* code = static_cast<uint8_t*>(function);
  uint8_t* page = page_near(code);
  if (page == nullptr) return false;
  uint8_t* const kept = page + kFarJump;
  MovedCode moved;
  const int64_t distance = page - (code + kJump);
  bool done = move_instructions(code, kept, &moved) && distance < kReach && distance >= -kReach;
  if (done) {
    put_far_jump(page, ours);
    std::memcpy(kept, moved.bytes, moved.size);
    put_far_jump(kept + moved.size, code + moved.taken);
    *original = kept;
    const auto relative = static_cast<int32_t>(distance);
    uint8_t jump[kJump] = {0xe9};
    std::memcpy(jump + 1, &relative, sizeof relative);
    done =
        raw_syscall(SYS_mprotect, page, kPage, PROT_READ | PROT_EXEC) == 0 && overwrite(code, jump);
  }
  if (!done) raw_syscall(SYS_munmap, page, kPage);
  return done;
#else
  (void)function, (void)ours, (void)original;
  return false;
#endif
}

}  // namespace filibuster::preload
