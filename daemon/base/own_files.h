// Where the files of Filibuster are that belong to this program.
#pragma once

#include <string>

namespace filibuster {

// The folder of filibuster and filibusterd. The kernel starts neither itself where they come from the tarball: a
// launcher starts the loader that lies beside them, and its path is /proc/self/exe (packaging/launcher.c).
std::string own_directory();

// Names this process for `ps` and `pgrep`: it would have the loader's name there.
void take_name(const char* program);

// libfilibuster.so: FILIBUSTER_PRELOAD, else that of the build or of the place of installation.
std::string preload_path();

// A program or file of lib/filibuster, beside that library.
std::string helper_path(const char* name);

}  // namespace filibuster
