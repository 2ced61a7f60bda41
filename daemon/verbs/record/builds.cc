#include <filesystem>

#include "core/hash.h"
#include "daemon/explore/program_files.h"
#include "daemon/verbs/record/request.h"

namespace filibuster {

// One digest over all files: which of them an interpreter reads is not known before it runs.
std::vector<cases::Build> builds_of(const Config& config, const SessionLane& lane,
                                    const ServiceConfig& service) {
  if (service.command.empty()) return {};
  Config alone;
  alone.directory = config.directory;
  alone.services = {service};
  Hash128 digest;
  for (const auto& [path, of_file] : program_files(alone, lane, {})) {
    // The same program has the same digest in another folder.
    const auto name = std::filesystem::path(path).lexically_relative(config.directory);
    digest = combine(combine(digest, hash_text(name.string())), hash_text(of_file));
  }
  return {{service.name, to_hex(digest)}};
}

}  // namespace filibuster
