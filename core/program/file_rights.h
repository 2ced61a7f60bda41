// The rights of a program's file, as the file system has them.
#pragma once

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <string>

#include "core/program/entry.h"

namespace filibuster {

// Inline, so that the preloaded library, which asks the kernel without libc, is linked without it.
// What this process gains when it executes the file; kNone, too, where there is no such file.
inline Gain gain_by_starting(const std::string& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) return Gain::kNone;
  const bool has_capabilities = getxattr(file.c_str(), "security.capability", nullptr, 0) > 0;
  return gain_of({status.st_mode, status.st_uid, status.st_gid, has_capabilities}, getuid(),
                 getgid());
}

}  // namespace filibuster
