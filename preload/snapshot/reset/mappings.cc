#include "preload/snapshot/reset/mappings.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "preload/inject/raw.h"
#include "preload/os/proc_text.h"

namespace filibuster::preload::reset {
namespace {

bool take_number(std::string_view* line, uint64_t base, uint64_t* out) {
  uint64_t value = 0;
  size_t i = 0;
  for (; i < line->size(); ++i) {
    const char c = (*line)[i];
    const uint64_t digit = c >= '0' && c <= '9'   ? static_cast<uint64_t>(c - '0')
                           : c >= 'a' && c <= 'f' ? static_cast<uint64_t>(c - 'a') + 10
                                                  : base;
    if (digit >= base) break;
    value = value * base + digit;
  }
  if (i == 0) return false;
  line->remove_prefix(i < line->size() ? i + 1 : i);
  *out = value;
  return true;
}

// "7f00-7f01 rw-p 00000000 00:01 1050   /usr/lib/libc.so.6" (proc(5))
bool parse(std::string_view line, Mapping* out) {
  uint64_t major, minor;
  if (!take_number(&line, 16, &out->from) || !take_number(&line, 16, &out->to) || line.size() < 5)
    return false;
  out->rights = (line[0] == 'r' ? PROT_READ : 0) | (line[1] == 'w' ? PROT_WRITE : 0) |
                (line[2] == 'x' ? PROT_EXEC : 0);
  out->shared = line[3] == 's';
  line.remove_prefix(5);
  if (!take_number(&line, 16, &out->offset) || !take_number(&line, 16, &major) ||
      !take_number(&line, 16, &minor) || !take_number(&line, 10, &out->inode))
    return false;
  out->device = major << 32 | minor;
  using Kind = Mapping::Kind;
  out->kind = line.ends_with("[stack]") ? Kind::kStack
              : line.ends_with("[vdso]") || line.find("[vvar") != std::string_view::npos ||
                      line.ends_with("[vsyscall]") || line.ends_with("[uprobes]")
                  ? Kind::kKernel
                  : Kind::kOrdinary;
  return true;
}

// What a page of `one` contains when nobody has written to it, a page of `other` contains there, too.
bool same_object(const Mapping& one, const Mapping& other) {
  if (one.shared != other.shared || one.device != other.device || one.inode != other.inode ||
      one.kind != other.kind)
    return false;
  return one.inode == 0 || one.offset - one.from == other.offset - other.from;
}

bool failed(long result) {
  return result < 0 && result > -4096;
}

// The part [from, to) of `before`, which is covered by nothing now.
bool map_again(const Mapping& before, uint64_t from, uint64_t to) {
  if (!before.is_anonymous() || before.kind != Mapping::Kind::kOrdinary) return false;
  return !failed(raw::call(SYS_mmap, static_cast<long>(from), static_cast<long>(to - from),
                           before.rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
}

// What there is of `now` in [from, to), where nothing was.
void remove_new(const Mapping& now, uint64_t from, uint64_t to) {
  // The stack keeps its length, which a deeper call would give it at once: only what was written there goes.
  if (now.kind == Mapping::Kind::kStack)
    raw::call(SYS_madvise, static_cast<long>(from), static_cast<long>(to - from), MADV_DONTNEED);
  else
    raw::call(SYS_munmap, static_cast<long>(from), static_cast<long>(to - from));
}

// Calls visit(mapping, other, from, to) for each piece [from, to) of the mappings of `list` that one mapping of `others` covers, or that
// none does (nullptr), until it returns false.
template <typename Visit>
bool each_piece(const MappingList& list, const MappingList& others, const Visit& visit) {
  uint32_t next = 0;
  for (uint32_t i = 0; i < list.count; ++i) {
    const Mapping& one = list.list[i];
    for (uint64_t at = one.from; at < one.to;) {
      while (next < others.count && others.list[next].to <= at) ++next;
      const Mapping* other = next < others.count ? &others.list[next] : nullptr;
      const bool covers = other != nullptr && other->from <= at;
      const uint64_t end =
          other == nullptr ? one.to : std::min(one.to, covers ? other->to : other->from);
      if (!visit(one, covers ? other : nullptr, at, end)) return false;
      at = end;
    }
  }
  return true;
}

}  // namespace

bool read_mappings(MappingList* out) {
  out->count = 0;
  bool whole = true;
  any_line("/proc/self/maps", [&](std::string_view line) {
    Mapping one{};
    if (!parse(line, &one)) whole = false;
    if (one.kind == Mapping::Kind::kKernel) return false;
    Mapping* last = out->count > 0 ? &out->list[out->count - 1] : nullptr;
    if (last != nullptr && last->to == one.from && last->rights == one.rights &&
        same_object(*last, one)) {
      last->to = one.to;
    } else if (out->count == MappingList::kMost) {
      whole = false;
    } else {
      out->list[out->count++] = one;
    }
    return !whole;
  });
  return whole && out->count > 0;
}

const char* unusual_mapping(uint64_t own_page) {
  const char* found = nullptr;
  uint64_t from = 0;
  any_line("/proc/self/smaps", [&](std::string_view line) {
    if (!line.starts_with("VmFlags:")) {
      uint64_t number;
      std::string_view rest = line;
      if (line.size() > 12 && take_number(&rest, 16, &number) && line.find('-') < 17) from = number;
      return false;
    }
    const auto has = [line](std::string_view flag) {
      return line.find(flag) != std::string_view::npos;
    };
    if (has(" um") || has(" uw") || has(" ui")) found = "it has memory under userfaultfd(2)";
    if (has(" ht")) found = "it has memory in pages of hugetlbfs";
    if (has(" mg")) found = "it has memory whose pages the kernel merges (KSM)";
    if (has(" sl")) found = "it has memory that is sealed (mseal)";
    if (has(" dc")) found = "it has memory that a fork leaves out (MADV_DONTFORK)";
    if (has(" wf") && from != own_page) found = "it has memory that a fork wipes (MADV_WIPEONFORK)";
    return found != nullptr;
  });
  return found;
}

bool count_anonymous(uint64_t* bytes, uint64_t* huge_bytes) {
  *bytes = *huge_bytes = 0;
  bool found = false;
  const auto take = [&](std::string_view line) {
    uint64_t value = 0;
    if (line.starts_with("Anonymous:") && number_field(line, "Anonymous:", 10, &value)) {
      *bytes += value * 1024;
      found = true;
    } else if (line.starts_with("AnonHugePages:") &&
               number_field(line, "AnonHugePages:", 10, &value)) {
      *huge_bytes += value * 1024;
    }
    return false;
  };
  any_line("/proc/self/smaps_rollup", take);
  return found;
}

bool give_back_mappings(Arena* arena) {
  raw::call(SYS_brk, static_cast<long>(arena->program_break));
  if (!read_mappings(&arena->mappings_now))
    return refuse(arena, NotReset::kOnce, "its mappings cannot be listed");
  const MappingList& before = arena->mappings;
  const MappingList& now = arena->mappings_now;
  // First what is new goes, and what stands in the place of something else.
  const bool removed = each_piece(
      now, before, [&](const Mapping& one, const Mapping* was, uint64_t from, uint64_t to) {
        if (was == nullptr) {
          remove_new(one, from, to);
          return true;
        }
        if (!same_object(*was, one))
          return map_again(*was, from, to) ||
                 refuse(arena, NotReset::kOnce, "a mapping has another file now");
        return was->rights == one.rights ||
               !failed(raw::call(SYS_mprotect, static_cast<long>(from),
                                 static_cast<long>(to - from), was->rights)) ||
               refuse(arena, NotReset::kOnce, "a mapping has other rights now");
      });
  return removed &&
         each_piece(before, now,
                    [&](const Mapping& one, const Mapping* is, uint64_t from, uint64_t to) {
                      return is != nullptr || map_again(one, from, to) ||
                             refuse(arena, NotReset::kOnce, "a mapping of a file is gone");
                    });
}

}  // namespace filibuster::preload::reset
