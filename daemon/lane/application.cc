#include "daemon/lane/application.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "core/protocol/control_page.h"

namespace filibuster {

namespace fs = std::filesystem;

std::string application_of(const std::string& directory) {
  std::error_code failed;
  const fs::path here = fs::weakly_canonical(directory, failed);
  if (failed || !here.is_absolute()) return directory;
  for (fs::path at = here;; at = at.parent_path()) {
    if (fs::exists(at / kApplicationFile, failed)) return at.string();
    if (at == at.parent_path()) return here.string();
  }
}

bool waits_for_services_by_hand(const Config& config) {
  return config.services.empty() ||
         std::any_of(config.services.begin(), config.services.end(),
                     [](const ServiceConfig& service) {
                       return service.is_by_hand() && !service.third_party && !service.ignored;
                     });
}

std::string beside_others(const Config& config, const std::vector<OtherSession>& others) {
  if (others.empty() || !waits_for_services_by_hand(config)) return "";
  const bool same = std::any_of(others.begin(), others.end(), [&](const OtherSession& other) {
    return other.application == config.application;
  });
  const std::string begin =
      "another session waits for services that are started by hand, too (" + to_text(others) +
      "). A service that has joined it stays there, and one that could join either of the two joins "
      "neither. ";
  return begin +
         (same ? "Give this session and its services a name of their own: "
                 "FILIBUSTER_APPLICATION in the environment of both"
               : "Start those of this session with FILIBUSTER_APPLICATION=" + config.application);
}

}  // namespace filibuster
