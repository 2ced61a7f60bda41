// filibuster-host: what services of this machine meet. `filibuster doctor` starts it, since the command itself may have a libc of
// its own (packaging/tarball.sh). It prints a line for glibc's version, and one for each library that is there.
//
// It enters old distributions as the library does (preload/os/old_glibc.h): the C library's own start of programs has a version
// of glibc 2.34, so it is linked without, and begins where the loader leaves it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>

#include "preload/os/old_glibc.h"

#ifdef FILIBUSTER_FIRST_GLIBC
__asm__(".symver dlopen, dlopen@" FILIBUSTER_FIRST_GLIBC);
#endif

#ifdef __x86_64__
__attribute__((force_align_arg_pointer))
#endif
_Noreturn void _start(void) {
  static const char* const kLibraries[] = {"libunwind.so.8"};
  dprintf(1, "glibc %s\n", gnu_get_libc_version());
  for (size_t i = 0; i < sizeof kLibraries / sizeof *kLibraries; ++i) {
    if (dlopen(kLibraries[i], RTLD_LAZY | RTLD_LOCAL) != NULL) dprintf(1, "%s\n", kLibraries[i]);
  }
  exit(0);
}
