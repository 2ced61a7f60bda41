// Hazards of memory: bytes, mappings, their rights, what is asked of the kernel for them.
#include <dlfcn.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <cfenv>
#include <clocale>

#include "tests/programs/resets/hazard.h"

namespace {

// A file of so many pages, whose first bytes are 'f', mapped privately.
char* new_file_pages(size_t bytes, int rights) {
  const int file = open("mapped", O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  check(file >= 0 && ftruncate(file, static_cast<off_t>(bytes)) == 0, "a file");
  for (size_t page = 0; page < 4; ++page)
    check(pwrite(file, "f", 1, static_cast<off_t>(page * kPage)) == 1, "a file");
  char* made = new_pages(bytes, rights, nullptr, 0, file);
  close(file);
  return made;
}

volatile int g_static = 1;
thread_local volatile int t_local = 1;

struct Bytes : Hazard {
  volatile int* heap = new int(1);
  void prepare() override { setenv("LEAKS", "1", 1); }
  std::string find() override {
    return leak_if(g_static != 1, "static data") + leak_if(t_local != 1, "thread-local data") +
           leak_if(*g_stack != 1, "the stack of main") + leak_if(*heap != 1, "the heap") +
           leak_if(g_error_of_connect != 0, "errno") +
           leak_if(getenv("LEAKS")[0] != '1', "a variable") +
           leak_if(leaks_value != 1, "data of a library") +
           leak_if(fegetround() != FE_TONEAREST, "the rounding");
  }
  void leave(int) override {
    for (volatile int* one :
         {&g_static, &t_local, g_stack, heap, static_cast<volatile int*>(&leaks_value)})
      *one = 2;
    setenv("LEAKS", "2", 1);
    fesetround(FE_UPWARD);
    errno = EDOM;
  }
};

struct HeapGrowth : Hazard {
  void* end = sbrk(0);
  std::string find() override { return leak_if(sbrk(0) != end, "the heap is longer"); }
  void leave(int) override {
    for (int i = 0; i < 80; ++i) memset(malloc(100'000), 1, 100'000);
    memset(malloc(8'000'000), 1, 8'000'000);
    check(sbrk(0) != end, "the heap does not grow");
  }
};

struct NewMapping : Hazard {
  void* const hint = reinterpret_cast<void*>(0x6000'0000'0000);
  std::string find() override {
    unsigned char is_there[1];
    return leak_if(mincore(hint, kPage, is_there) == 0, "a mapping");
  }
  void leave(int) override {
    memset(new_pages(kBytes, PROT_READ | PROT_WRITE, hint, MAP_FIXED_NOREPLACE), 1, kBytes);
  }
};

struct DeepStack : Hazard {
  [[gnu::noinline]] static int deepen(int depth) {
    volatile char frame[kPage];
    frame[0] = 1;
    return depth == 0 ? 0 : deepen(depth - 1) + frame[0];
  }
  void leave(int) override { deepen(1000); }
};

struct Dropped : Filled {
  void leave(int) override { drop(); }
};
struct DroppedRead : Filled {
  void leave(int) override {
    drop();
    read(1);
  }
};
struct Unmapped : Filled {
  void leave(int) override { check(munmap(memory, kBytes) == 0, "munmap"); }
};
struct UnmappedAgain : Filled {
  void leave(int) override {
    munmap(memory, kBytes);
    new_pages(kBytes, PROT_READ | PROT_WRITE, memory, MAP_FIXED);
    read(3);
  }
};
struct Readonly : Filled {
  void prepare() override {
    Filled::prepare();
    protect(PROT_READ);
  }
  void leave(int) override {
    protect(PROT_READ | PROT_WRITE);
    memset(memory, 1, kBytes);
    protect(PROT_READ);
  }
};
struct Protection : Filled {
  void leave(int) override { protect(PROT_NONE); }
};
// Nobody can read it at 'go', and it is dropped and read meanwhile.
struct HiddenDropped : Filled {
  void prepare() override {
    Filled::prepare();
    protect(PROT_NONE);
  }
  std::string find() override {
    protect(PROT_READ | PROT_WRITE);
    return Filled::find();
  }
  void leave(int) override {
    drop();
    read(1);
    protect(PROT_NONE);
  }
};
struct Advice : Filled {
  std::string find() override {
    FILE* file = fopen("/proc/self/smaps", "re");
    char line[512], start[32];
    snprintf(start, sizeof start, "%lx-", reinterpret_cast<unsigned long>(memory));
    bool here = false, leaked = false;
    while (fgets(line, sizeof line, file) != nullptr) {
      if (strncmp(line, start, strlen(start)) == 0) here = true;
      if (here && strncmp(line, "VmFlags:", 8) == 0) {
        leaked = strstr(line, " dc") != nullptr;
        here = false;
      }
    }
    fclose(file);
    return leak_if(leaked, "memory that a fork leaves out");
  }
  void leave(int) override { check(madvise(memory, kBytes, MADV_DONTFORK) == 0, "madvise"); }
};

struct ReadonlyFile : Hazard {
  static constexpr size_t kSmall = 4 * kPage;
  char* memory = nullptr;
  virtual size_t size() { return kSmall; }
  void prepare() override { memory = new_file_pages(size(), PROT_READ); }
  std::string find() override {
    return leak_if(memory[0] != 'f' || memory[kPage] != 'f' || memory[2 * kPage] != 'f',
                   "a page of a file");
  }
  void leave(int) override {
    check(mprotect(memory, size(), PROT_READ | PROT_WRITE) == 0, "mprotect");
    memory[kPage] = 1;
    check(mprotect(memory, size(), PROT_READ) == 0, "mprotect");
  }
};
struct LargeFile : ReadonlyFile {
  size_t size() override { return 20 << 20; }
};
// Such pages, and others that look as if they had not been touched.
struct LargeFileAndDropped : LargeFile {
  DroppedRead dropped;
  void prepare() override {
    LargeFile::prepare();
    dropped.prepare();
  }
  std::string find() override { return LargeFile::find() + dropped.find(); }
  void leave(int status) override {
    LargeFile::leave(status);
    dropped.leave(status);
  }
};
struct PrivateFileDropped : Hazard {
  char* memory = nullptr;
  void prepare() override {
    memory = new_file_pages(4 * kPage, PROT_READ | PROT_WRITE);
    memory[0] = memory[kPage] = 'w';
  }
  std::string find() override {
    return leak_if(memory[0] != 'w' || memory[kPage] != 'w' || memory[2 * kPage] != 'f',
                   "a page of a file");
  }
  void leave(int) override {
    check(madvise(memory, 4 * kPage, MADV_DONTNEED) == 0, "madvise");
    check(static_cast<volatile char*>(memory)[0] == 'f', "a page of a file");
  }
};
struct FileUnmapped : Hazard {
  char* memory = new_file_pages(4 * kPage, PROT_READ);
  std::string find() override { return leak_if(memory[0] != 'f', "a page of a file"); }
  void leave(int) override { munmap(memory, 4 * kPage); }
};

// Pages that nobody has touched before 'go', and that nobody may touch afterwards.
struct Guard : Hazard {
  static constexpr int kInstall = 102;  // MADV_GUARD_INSTALL
  char* memory = new_pages(kBytes);
  std::string find() override {
    return leak_if(write(open("/dev/null", O_WRONLY | O_CLOEXEC), memory, 1) != 1 ||
                       syscall(SYS_getrandom, memory, 1, 0) != 1,
                   "a guard");
  }
  void leave(int) override {
    need(madvise(memory + kPage, kBytes - kPage, kInstall) == 0, "this kernel has no guards");
    madvise(memory, kPage, kInstall);
  }
};

struct WipeOnFork : Hazard {
  void prepare() override {
    check(madvise(new_pages(kBytes), kBytes, MADV_WIPEONFORK) == 0, "madvise");
  }
};
struct DontFork : Hazard {
  void prepare() override {
    check(madvise(new_pages(kBytes), kBytes, MADV_DONTFORK) == 0, "madvise");
  }
};
struct HugePages : Hazard {
  void prepare() override {
    constexpr size_t kHuge = 2 << 20;
    char* made = new_pages(3 * kHuge);
    char* aligned =
        reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(made) + kHuge - 1) / kHuge * kHuge);
    need(madvise(aligned, 2 * kHuge, MADV_HUGEPAGE) == 0, "this kernel has no huge pages");
    memset(aligned, 1, 2 * kHuge);
    FILE* file = fopen("/proc/self/smaps_rollup", "re");
    char line[512];
    long huge = 0;
    while (fgets(line, sizeof line, file) != nullptr) sscanf(line, "AnonHugePages: %ld", &huge);
    fclose(file);
    need(huge > 0, "this machine gives no huge page");
  }
};
// Of memory that it had at 'go'. A fork takes memory out of userfaultfd(2) for the child (UFFD_FEATURE_EVENT_FORK is not asked for).
struct Userfaults : Filled {
  static void watch(void* from) {
    const int fd =
        static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY));
    need(fd >= 0, "userfaultfd(2) is not allowed");
    uffdio_api api{.api = UFFD_API, .features = 0, .ioctls = 0};
    check(ioctl(fd, UFFDIO_API, &api) == 0, "userfaultfd");
    uffdio_register range{.range = {.start = reinterpret_cast<uintptr_t>(from), .len = kBytes},
                          .mode = UFFDIO_REGISTER_MODE_MISSING,
                          .ioctls = 0};
    check(ioctl(fd, UFFDIO_REGISTER, &range) == 0, "userfaultfd");
  }
  void prepare() override {
    Filled::prepare();
    watch(new_pages(kBytes));
  }
  void leave(int) override {
    drop();
    watch(memory);
  }
};

struct Random : Hazard {
  int first = 0;
  void prepare() override {
    srand(7);
    first = rand();
    srand(7);
  }
  std::string find() override { return leak_if(rand() != first, "numbers that were drawn"); }
  void leave(int) override { rand(); }
};

struct Library : Hazard {
  void leave(int) override {
    check(dlopen("libm.so.6", RTLD_NOW) != nullptr && setlocale(LC_ALL, "C.UTF-8") != nullptr,
          "dlopen");
  }
  std::string find() override {
    return leak_if(strcmp(setlocale(LC_ALL, nullptr), "C") != 0, "a locale");
  }
};

}  // namespace

std::vector<Entry> memory_hazards() {
  return {
      {"bytes", make<Bytes>},
      {"heap-growth", make<HeapGrowth>},
      {"new-mapping", make<NewMapping>},
      {"deep-stack", make<DeepStack>},
      {"dropped", make<Dropped>},
      {"dropped-read", make<DroppedRead>},
      {"unmapped", make<Unmapped>},
      {"unmapped-again", make<UnmappedAgain>},
      {"readonly", make<Readonly>},
      {"readonly-file", make<ReadonlyFile>},
      {"large-file", make<LargeFile>},
      {"large-file-and-dropped", make<LargeFileAndDropped>},
      {"protection", make<Protection>},
      {"hidden-dropped", make<HiddenDropped>},
      {"private-file-dropped", make<PrivateFileDropped>},
      {"file-unmapped", make<FileUnmapped>},
      {"advice", make<Advice>},
      {"guard", make<Guard>},
      {"wipe-on-fork", make<WipeOnFork>},
      {"dont-fork", make<DontFork>},
      {"huge-pages", make<HugePages>},
      {"userfaults", make<Userfaults>},
      {"random", make<Random>},
      {"library", make<Library>},
  };
}
