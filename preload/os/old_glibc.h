// Included before everything else in each file of the library. The functions of <dlfcn.h> moved into
// libc.so.6 with glibc 2.34. By their first versions they are found in both places, so that the library
// enters programs of older distributions, too. It names libdl.so.2 as needed for that.
#pragma once

#if defined(__x86_64__)
#define FILIBUSTER_FIRST_GLIBC "GLIBC_2.2.5"
#define FILIBUSTER_FIRST_DLINFO "GLIBC_2.3.3"
#elif defined(__aarch64__)
#define FILIBUSTER_FIRST_GLIBC "GLIBC_2.17"
#define FILIBUSTER_FIRST_DLINFO "GLIBC_2.17"
#endif

#ifdef FILIBUSTER_FIRST_GLIBC
__asm__(".symver dlsym, dlsym@" FILIBUSTER_FIRST_GLIBC);
__asm__(".symver dladdr, dladdr@" FILIBUSTER_FIRST_GLIBC);
__asm__(".symver dlerror, dlerror@" FILIBUSTER_FIRST_GLIBC);
__asm__(".symver dlclose, dlclose@" FILIBUSTER_FIRST_GLIBC);
__asm__(".symver dlinfo, dlinfo@" FILIBUSTER_FIRST_DLINFO);
#endif
