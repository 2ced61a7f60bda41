#include "daemon/record/environment.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "core/protocol/shown_host.h"

namespace filibuster::record {
namespace {

constexpr char kZone[] = "TZ", kHashSeed[] = "PYTHONHASHSEED";

// Of the configuration, or else of the daemon, whose environment services get.
std::optional<std::string> variable_of(const ServiceConfig& service, const std::string& name) {
  if (const auto found = service.env.find(name); found != service.env.end()) return found->second;
  const char* inherited = std::getenv(name.c_str());
  return inherited == nullptr ? std::nullopt : std::optional<std::string>(inherited);
}

// "Europe/Berlin" of /etc/localtime -> /usr/share/zoneinfo/Europe/Berlin.
std::optional<std::string> zone_of_machine() {
  constexpr std::string_view kFolder = "/zoneinfo/";
  std::error_code failed;
  const std::string target = std::filesystem::read_symlink("/etc/localtime", failed).string();
  const size_t at = target.find(kFolder);
  if (failed || at == std::string::npos) return std::nullopt;
  return target.substr(at + kFolder.size());
}

std::optional<std::string> zone_of(const ServiceConfig& service) {
  auto out = variable_of(service, kZone);
  return out ? out : zone_of_machine();
}

}  // namespace

std::map<std::string, std::string> recorded_environment(const ServiceConfig& service) {
  std::map<std::string, std::string> out;
  if (auto zone = zone_of(service)) out.emplace(kZone, *std::move(zone));
  if (auto seed = variable_of(service, kHashSeed)) out.emplace(kHashSeed, *std::move(seed));
  return out;
}

std::string host_name() {
  char name[kMaxHostName + 1] = {};
  return ::gethostname(name, sizeof name) == 0 ? name : "";
}

void restore_environment(const std::map<std::string, std::string>& recorded,
                         ServiceConfig* service) {
  for (const auto& [name, value] : recorded) {
    if (name == kZone && zone_of(*service) == value) continue;
    service->env.emplace(name, value);
  }
}

}  // namespace filibuster::record
