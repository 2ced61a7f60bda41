// What stands in bin/ of the tarball for each program: starts the program of its name by the loader, and with the libraries, that
// are packed beside it.
//
//   bin/filibuster                    -> lib/filibuster/packed/ld-linux-x86-64.so.2 lib/filibuster/packed/filibuster
//   lib/filibuster/filibuster-proxy   -> lib/filibuster/packed/ld-linux-x86-64.so.2 lib/filibuster/packed/filibuster-proxy
//
// It is static, so that it needs nothing of the host. The libraries are named by an argument of the loader, and by no variable: what
// the program starts is loaded by the host's loader with the host's libraries. /proc/self/exe of the program is the loader, by
// which it knows where it is (daemon/base/own_files.h).
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kCannotStart = 3 };  // docs/exit-codes.md: something that Filibuster needs is missing

static int complain(const char* path, const char* why) {
  fprintf(stderr, "filibuster: %s: %s\n", path, why);
  return kCannotStart;
}

static char* path(const char* folder, const char* name) {
  char* out = NULL;
  if (asprintf(&out, "%s/%s", folder, name) < 0) exit(complain(name, strerror(ENOMEM)));
  return out;
}

int main(int argc, char** argv) {
  char self[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
  if (size < 0) return complain("/proc/self/exe", strerror(errno));
  self[size] = '\0';
  char* const name = strrchr(self, '/');
  if (name == NULL) return complain(self, "this is no path");
  *name = '\0';
  char* packed = path(self, "packed");
  if (access(packed, F_OK) != 0) packed = path(self, "../lib/filibuster/packed");
  // The loader takes a list of folders.
  if (strpbrk(packed, ":;") != NULL)
    return complain(packed, "move Filibuster to a folder without ':' and ';' in its path");
  char* const loader = path(packed, "ld-linux-x86-64.so.2");
  char* const program = path(packed, name + 1);

  char** const words = calloc((size_t)argc + 9, sizeof *words);
  if (words == NULL) return complain(program, strerror(errno));
  char** word = words;
  *word++ = loader;
  *word++ = "--inhibit-cache";
  *word++ = "--library-path";
  *word++ = packed;
  *word++ = "--argv0";
  *word++ = argc > 0 ? argv[0] : name + 1;
  *word++ = program;
  for (int i = 1; i < argc; ++i) *word++ = argv[i];
  execv(loader, words);
  return complain(loader, strerror(errno));
}
