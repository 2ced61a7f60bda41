// Programs built with gcc's --coverage write what they counted when they exit, not when SIGTERM ends them, as services
// are ended. Preloaded into the services of `filibuster run --coverage`: where the program has no handler of its own
// for SIGTERM, the counters are written then, and the signal does what it would have done.
//
// A thread writes them, which waits for the signal from the start: a signal handler may interrupt anything, and
// writing takes locks and memory. `__gcov_exit` (libgcov.a; the destructor that writes) is in every such program and
// library. It is hidden, so it is found in the symbol table, which a stripped program does not have.
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __x86_64__
// These moved into libc.so.6 with glibc 2.32 and 2.34: by their first versions they are found in older ones, too, for which
// libpthread.so.0 is named as needed (preload/os/old_glibc.h does so for <dlfcn.h>).
__asm__(".symver pthread_create, pthread_create@GLIBC_2.2.5");
__asm__(".symver pthread_sigmask, pthread_sigmask@GLIBC_2.2.5");
__asm__(".symver sem_init, sem_init@GLIBC_2.2.5");
__asm__(".symver sem_wait, sem_wait@GLIBC_2.2.5");
__asm__(".symver sem_post, sem_post@GLIBC_2.2.5");
#endif

static const char kWriter[] = "__gcov_exit";
enum { kMaxModules = 64 };

static void (*g_writers[kMaxModules])(void);
static int g_count;
static sem_t g_ended;

// Is [offset, offset + size) within the file?
static int within(uint64_t offset, uint64_t size, uint64_t whole) {
  return offset <= whole && size <= whole - offset;
}

// The value of kWriter in the symbol table of a mapped ELF file; 0: it has none.
static uint64_t find_writer(const char* file, uint64_t size) {
  const ElfW(Ehdr)* header = (const ElfW(Ehdr)*)file;
  if (size < sizeof *header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_shentsize != sizeof(ElfW(Shdr)) ||
      !within(header->e_shoff, (uint64_t)header->e_shnum * sizeof(ElfW(Shdr)), size)) {
    return 0;
  }
  const ElfW(Shdr)* sections = (const ElfW(Shdr)*)(file + header->e_shoff);
  for (unsigned i = 0; i < header->e_shnum; ++i) {
    const ElfW(Shdr)* symbols = &sections[i];
    if (symbols->sh_type != SHT_SYMTAB || symbols->sh_link >= header->e_shnum) continue;
    const ElfW(Shdr)* names = &sections[symbols->sh_link];
    if (!within(symbols->sh_offset, symbols->sh_size, size) ||
        !within(names->sh_offset, names->sh_size, size)) {
      continue;
    }
    const ElfW(Sym)* symbol = (const ElfW(Sym)*)(file + symbols->sh_offset);
    for (uint64_t n = symbols->sh_size / sizeof *symbol; n > 0; --n, ++symbol) {
      if (symbol->st_shndx == SHN_UNDEF || !within(symbol->st_name, sizeof kWriter, names->sh_size))
        continue;
      if (memcmp(file + names->sh_offset + symbol->st_name, kWriter, sizeof kWriter) == 0)
        return symbol->st_value;
    }
  }
  return 0;
}

static int look_at(struct dl_phdr_info* module, size_t size, void* unused) {
  (void)size;
  (void)unused;
  const char* path = module->dlpi_name[0] == '\0' ? "/proc/self/exe" : module->dlpi_name;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const off_t end = lseek(fd, 0, SEEK_END);  // fstat(2) is a function of glibc 2.33
  if (end > 0) {
    const size_t length = (size_t)end;
    void* file = mmap(NULL, length, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file != MAP_FAILED) {
      const uint64_t at = find_writer(file, length);
      if (at != 0 && g_count < kMaxModules)
        g_writers[g_count++] = (void (*)(void))(module->dlpi_addr + at);
      munmap(file, length);
    }
  }
  close(fd);
  return 0;
}

static void* wait_for_the_end(void* unused) {
  (void)unused;
  while (sem_wait(&g_ended) != 0) {
  }
  for (int i = 0; i < g_count; ++i) g_writers[i]();
  signal(SIGTERM, SIG_DFL);
  kill(getpid(), SIGTERM);
  return NULL;
}

static void on_sigterm(int number) {
  (void)number;
  sem_post(&g_ended);
}

static void start_thread(void) {
  sigset_t all, before;
  pthread_t thread;
  pthread_attr_t attributes;
  sem_init(&g_ended, 0, 0);
  sigfillset(&all);
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  const int failed = pthread_create(&thread, &attributes, wait_for_the_end, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  if (failed) signal(SIGTERM, SIG_DFL);  // nobody would end the program
}

// A forked child has our handler, but not our thread.
static void after_fork(void) {
  struct sigaction now;
  if (sigaction(SIGTERM, NULL, &now) == 0 && now.sa_handler == on_sigterm) start_thread();
}

__attribute__((constructor)) static void start(void) {
  dl_iterate_phdr(look_at, NULL);
  if (g_count == 0) return;
  struct sigaction action, before;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_sigterm;
  action.sa_flags = SA_RESTART;
  if (sigaction(SIGTERM, NULL, &before) != 0 || before.sa_handler != SIG_DFL) return;
  sigaction(SIGTERM, &action, NULL);
  start_thread();
  pthread_atfork(NULL, NULL, after_fork);
}
