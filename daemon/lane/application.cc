#include "daemon/lane/application.h"

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

std::set<std::string> services_of_application(const Config& config) {
  std::set<std::string> out;
  for (const ServiceConfig& service : config.services) {
    if (service.is_followed()) out.insert(service.name);
  }
  return out;
}

std::vector<std::string> services_by_hand(const Config& config) {
  std::vector<std::string> out;
  for (const ServiceConfig& service : config.services) {
    if (service.is_followed() && service.is_by_hand()) out.push_back(service.name);
  }
  return out;
}

std::string beside_others(const std::vector<OtherSession>& others) {
  if (others.empty()) return "";
  return "another session of this application runs, too (" + to_text(others) +
         "). A service that is started by hand and has joined it stays there, and one that could join "
         "either of the two joins neither. Give this session and its services a name of their own: "
         "FILIBUSTER_APPLICATION in the environment of both";
}

}  // namespace filibuster
