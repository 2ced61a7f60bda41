// Folders of containers, and where they are on this machine.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cli/init/compose_tree.h"

namespace filibuster::init {

// "../a/./b/" -> "../a/b"; "" for the folder itself.
std::string normal_folder(const std::filesystem::path& path);

// The folder here that stands at `inside` in the container by a bind mount: "./src:/app". nullopt:
// there is none.
std::optional<std::string> mounted_at(const Tree& service, const std::string& inside);

// Folders that hold nothing but Dockerfiles ("docker/users"): the program is not in them.
bool is_for_docker(const std::string& folder);

// Whether a command names a file that is only in its container: an absolute path, but for those of
// programs of the system.
bool names_path_inside(const std::string& command);

}  // namespace filibuster::init
