#include "preload/snapshot/reset/pages.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "preload/inject/raw.h"
#include "preload/os/proc_text.h"
#include "preload/snapshot/reset/mappings.h"

namespace filibuster::preload::reset {
namespace {

constexpr uint64_t kPresent = uint64_t{1} << 63;
constexpr uint64_t kSwapped = uint64_t{1} << 62;
constexpr uint64_t kOfFile = uint64_t{1} << 61;
constexpr uint64_t kExclusive = uint64_t{1} << 56;

constexpr uint64_t kMostBytes = uint64_t{4}
                                << 30;  // of private mappings: to look through them takes 20 ms
// A read-only mapping of a file that is larger (the archive of locales) is not looked through: the count tells whether something is there.
constexpr uint64_t kLargeFile = uint64_t{16} << 20;

bool is_anonymous(uint64_t entry) {
  return (entry & kPresent) != 0 && (entry & kOfFile) == 0;
}

bool is_private(const Mapping& one) {
  return !one.shared;
}

class Pagemap {
 public:
  Pagemap() : file_(raw::open_at(AT_FDCWD, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {}
  ~Pagemap() {
    if (file_ >= 0) raw::close(file_);
  }
  Pagemap(const Pagemap&) = delete;
  bool is_readable() const { return file_ >= 0; }

  // Calls visit(address, entry) for each page of [from, to) until it returns false. False: it did, or the entries cannot be read.
  template <typename Visit>
  bool each_page(Arena* arena, uint64_t from, uint64_t to, const Visit& visit) const {
    while (from < to) {
      const uint64_t wanted = std::min<uint64_t>((to - from) / kPage, Arena::kEntries);
      const long got =
          raw::call(SYS_pread64, file_, raw::address_of(arena->entries),
                    static_cast<long>(wanted * 8), static_cast<long>(from / kPage * 8));
      if (got < 8) return false;
      const auto count = static_cast<uint64_t>(got) / 8;
      for (uint64_t i = 0; i < count; ++i) {
        if (!visit(from + i * kPage, arena->entries[i])) return false;
      }
      from += count * kPage;
    }
    return true;
  }

 private:
  int file_;
};

// Which of a growing sequence of addresses were the process's own at 'go'.
class OwnAtGo {
 public:
  explicit OwnAtGo(const Arena& arena) : arena_(arena) {}
  bool has(uint64_t address) {
    while (next_ < arena_.run_count && arena_.runs[next_].to <= address) ++next_;
    return next_ < arena_.run_count && arena_.runs[next_].from <= address;
  }
  // Any in [from, to)?
  bool any(uint64_t from, uint64_t to) {
    has(from);
    return next_ < arena_.run_count && arena_.runs[next_].from < to;
  }

 private:
  const Arena& arena_;
  uint32_t next_ = 0;
};

bool is_looked_through(const Mapping& one, OwnAtGo* own) {
  if (!is_private(one)) return false;
  const bool plain_file = one.inode != 0 && (one.rights & PROT_WRITE) == 0;
  return !plain_file || one.to - one.from <= kLargeFile || own->any(one.from, one.to);
}

long read_sibling(Arena* arena, const iovec* to, uint32_t to_count, const iovec* from,
                  uint32_t from_count) {
  return raw::call(SYS_process_vm_readv, arena->pristine, raw::address_of(to), to_count,
                   raw::address_of(from), from_count, 0);
}

// Collects pages, and copies them from the sibling's to the same places.
class Copies {
 public:
  explicit Copies(Arena* arena) : arena_(arena) { arena_->part_count = 0; }

  bool add(const Mapping& mapping, uint64_t address) {
    if ((mapping.rights & PROT_WRITE) == 0) return copy_protected(mapping, address);
    iovec* last = arena_->part_count > 0 ? &arena_->parts[arena_->part_count - 1] : nullptr;
    if (last != nullptr && reinterpret_cast<uint64_t>(last->iov_base) + last->iov_len == address) {
      last->iov_len += kPage;
      return true;
    }
    if (arena_->part_count == Arena::kMostParts && !flush()) return false;
    arena_->parts[arena_->part_count++] = {reinterpret_cast<void*>(address), kPage};
    return true;
  }
  bool flush() {
    size_t wanted = 0;
    for (uint32_t i = 0; i < arena_->part_count; ++i) wanted += arena_->parts[i].iov_len;
    const uint32_t count = arena_->part_count;
    arena_->part_count = 0;
    if (count == 0 || read_sibling(arena_, arena_->parts, count, arena_->parts, count) ==
                          static_cast<long>(wanted))
      return true;
    return refuse(arena_, NotReset::kForGood, "its memory cannot be copied (process_vm_readv)");
  }

 private:
  bool copy_protected(const Mapping& mapping, uint64_t address) {
    const auto at = static_cast<long>(address);
    if (raw::call(SYS_mprotect, at, kPage, PROT_READ | PROT_WRITE) != 0)
      return refuse(arena_, NotReset::kOnce, "read-only memory has changed, and cannot be written");
    const iovec page{reinterpret_cast<void*>(address), kPage};
    const bool copied = read_sibling(arena_, &page, 1, &page, 1) == static_cast<long>(kPage);
    raw::call(SYS_mprotect, at, kPage, mapping.rights);
    return copied ||
           refuse(arena_, NotReset::kOnce, "read-only memory has changed, and cannot be copied");
  }

  Arena* arena_;
};

bool is_all_zero(uint64_t address) {
  const auto* words = reinterpret_cast<const uint64_t*>(address);
  for (uint64_t i = 0; i < kPage / sizeof *words; i += 8) {
    if ((words[i] | words[i + 1] | words[i + 2] | words[i + 3] | words[i + 4] | words[i + 5] |
         words[i + 6] | words[i + 7]) != 0)
      return false;
  }
  return true;
}

bool note_run(Arena* arena, uint64_t address) {
  if (arena->run_count > 0 && arena->runs[arena->run_count - 1].to == address) {
    arena->runs[arena->run_count - 1].to += kPage;
    return true;
  }
  if (arena->run_count == Arena::kMostRuns)
    return refuse(arena, NotReset::kForGood, "its memory is in too many pieces");
  arena->runs[arena->run_count++] = {address, address + kPage};
  return true;
}

bool merging_is_on() {
  const int file = raw::open_at(AT_FDCWD, "/sys/kernel/mm/ksm/run", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char first = '0';
  raw::read(file, &first, 1);
  raw::close(file);
  return first != '0';
}

// What each count of anonymous pages has to be; they cannot be told from others where it is another.
bool count(Arena* arena, uint64_t* pages) {
  uint64_t bytes, huge;
  if (merging_is_on())
    return refuse(arena, NotReset::kForGood,
                  "the kernel merges pages on this machine (/sys/kernel/mm/ksm/run)");
  if (!count_anonymous(&bytes, &huge))
    return refuse(arena, NotReset::kForGood,
                  "its pages cannot be counted (/proc/self/smaps_rollup)");
  if (huge != 0) return refuse(arena, NotReset::kForGood, "it has memory in huge pages");
  *pages = bytes / kPage;
  return true;
}

// A page of the process's own that is the kernel's page of zeros now looks like one that nobody has touched. Whoever reads memory that
// was dropped has such pages, so where the count does not fit, all that look untouched are compared. `wanted`: how many there are.
bool give_back_zero_pages(Arena* arena, const Pagemap& pagemap, uint64_t wanted) {
  OwnAtGo own(*arena);
  uint64_t found = 0;
  for (uint32_t m = 0; m < arena->mappings.count; ++m) {
    const Mapping& mapping = arena->mappings.list[m];
    if (!is_private(mapping) || !own.any(mapping.from, mapping.to) ||
        (mapping.rights & PROT_READ) == 0)
      continue;
    Copies copies(arena);
    const bool done =
        pagemap.each_page(arena, mapping.from, mapping.to, [&](uint64_t address, uint64_t entry) {
          if (!own.has(address) || !is_anonymous(entry) || (entry & kExclusive) != 0 ||
              address == arena->own_page || !is_all_zero(address))
            return true;
          const iovec to{arena->page, kPage}, from{reinterpret_cast<void*>(address), kPage};
          if (read_sibling(arena, &to, 1, &from, 1) != static_cast<long>(kPage))
            return refuse(arena, NotReset::kOnce, "memory that was dropped cannot be copied");
          if (is_all_zero(reinterpret_cast<uint64_t>(arena->page))) return true;
          ++found;
          return copies.add(mapping, address);
        });
    if (!done || !copies.flush()) return false;
  }
  // Others are in memory that cannot be read, or pages that have changed and are not looked at make up for them.
  return found == wanted ||
         refuse(
             arena, NotReset::kOnce,
             "memory that was dropped cannot be found, or it has changed memory that it maps read-only");
}

}  // namespace

bool make_tell_tale(Arena* arena) {
  void* page = raw::map_pages(kPage);
  arena->tell_tale = reinterpret_cast<uint64_t>(page);
  if (page == nullptr) return false;
  set_tell_tale(*arena);
  return true;
}

void set_tell_tale(const Arena& arena) {
  *reinterpret_cast<volatile char*>(arena.tell_tale) = 1;
}

bool shares_pages_with_a_child(Arena* arena) {
  const Pagemap pagemap;
  bool shares = false;
  return pagemap.is_readable() &&
         pagemap.each_page(arena, arena->tell_tale, arena->tell_tale + kPage,
                           [&](uint64_t, uint64_t entry) {
                             shares = is_anonymous(entry) && (entry & kExclusive) == 0;
                             return true;
                           }) &&
         shares;
}

bool note_pages(Arena* arena) {
  const Pagemap pagemap;
  if (!pagemap.is_readable())
    return refuse(arena, NotReset::kForGood, "its pages cannot be listed (/proc/self/pagemap)");
  uint64_t total = 0, own = 0, anonymous = 0;
  arena->run_count = 0;
  for (uint32_t m = 0; m < arena->mappings.count; ++m) {
    const Mapping& mapping = arena->mappings.list[m];
    if (!is_private(mapping)) continue;
    total += mapping.to - mapping.from;
    if (total > kMostBytes)
      return refuse(arena, NotReset::kForGood, "it has more than 4 GiB of private mappings");
    const bool done =
        pagemap.each_page(arena, mapping.from, mapping.to, [&](uint64_t address, uint64_t entry) {
          if ((entry & kSwapped) != 0)
            return refuse(arena, NotReset::kForGood, "some of its memory is swapped out");
          if (!is_anonymous(entry)) return true;
          const bool readable = (mapping.rights & PROT_READ) != 0;
          if (mapping.is_anonymous() && readable && is_all_zero(address) &&
              raw::call(SYS_madvise, static_cast<long>(address), kPage, MADV_DONTNEED) == 0)
            return true;
          ++own;
          return address == arena->own_page || note_run(arena, address);
        });
    if (!done)
      return refuse(arena, NotReset::kForGood, "its pages cannot be read (/proc/self/pagemap)");
  }
  if (!count(arena, &anonymous)) return false;
  return own == anonymous ||
         refuse(arena, NotReset::kForGood, "its pages are not those that the kernel counts");
}

bool give_back_pages(Arena* arena) {
  const Pagemap pagemap;
  if (!pagemap.is_readable())
    return refuse(arena, NotReset::kForGood, "its pages cannot be listed (/proc/self/pagemap)");
  uint64_t counted = 0, anonymous = 0;
  // Before something is copied: a page that is copied is there afterwards.
  if (!count(arena, &anonymous)) return false;
  OwnAtGo own(*arena);
  for (uint32_t m = 0; m < arena->mappings.count; ++m) {
    const Mapping& mapping = arena->mappings.list[m];
    if (!is_looked_through(mapping, &own)) continue;
    Copies copies(arena);
    const bool done =
        pagemap.each_page(arena, mapping.from, mapping.to, [&](uint64_t address, uint64_t entry) {
          if ((entry & kSwapped) != 0)
            return refuse(arena, NotReset::kOnce, "some of its memory is swapped out");
          const bool was_own = own.has(address);
          const bool exclusive = is_anonymous(entry) && (entry & kExclusive) != 0;
          if (exclusive || (was_own && is_anonymous(entry))) ++counted;
          if (address == arena->own_page || (!exclusive && (!was_own || is_anonymous(entry))))
            return true;
          return copies.add(mapping, address);
        });
    if (!done || !copies.flush())
      return refuse(arena, NotReset::kOnce, "its pages cannot be read (/proc/self/pagemap)");
  }
  if (counted < anonymous)
    return refuse(arena, NotReset::kOnce, "it has changed memory that it maps read-only");
  return counted == anonymous || give_back_zero_pages(arena, pagemap, counted - anonymous);
}

bool compare_pages(Arena* arena) {
  const Pagemap pagemap;
  OwnAtGo own(*arena);
  Run run{};  // pages in a row that are compared at once
  const auto compare = [&] {
    const Run compared = run;
    run = {};
    const uint64_t size = compared.to - compared.from;
    if (size == 0) return true;
    const iovec to{arena->page, size}, from{reinterpret_cast<void*>(compared.from), size};
    if (read_sibling(arena, &to, 1, &from, 1) != static_cast<long>(size))
      return refuse(arena, NotReset::kForGood, "its memory cannot be compared (process_vm_readv)");
    if (compared.from <= arena->rseq && arena->rseq < compared.to)
      std::memcpy(arena->page + (arena->rseq - compared.from),
                  reinterpret_cast<const void*>(arena->rseq), kRseqBytes);
    return std::memcmp(arena->page, reinterpret_cast<const void*>(compared.from), size) == 0 ||
           refuse(arena, NotReset::kForGood, "a byte of its memory was not given back");
  };
  for (uint32_t m = 0; m < arena->mappings.count; ++m) {
    const Mapping& mapping = arena->mappings.list[m];
    if (!is_looked_through(mapping, &own) || (mapping.rights & PROT_READ) == 0) continue;
    const bool same =
        pagemap.each_page(arena, mapping.from, mapping.to, [&](uint64_t address, uint64_t entry) {
          if (address == arena->own_page || (!own.has(address) && !is_anonymous(entry)))
            return true;
          const bool goes_on = run.to == address && run.to - run.from < sizeof arena->page;
          if (!goes_on && !compare()) return false;
          if (!goes_on) run.from = address;
          run.to = address + kPage;
          return true;
        });
    if (!same || !compare())
      return refuse(arena, NotReset::kForGood, "its pages cannot be read (/proc/self/pagemap)");
  }
  return true;
}

}  // namespace filibuster::preload::reset
