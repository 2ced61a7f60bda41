#include "daemon/session/absent_services.h"

#include "daemon/lane/readiness.h"

namespace filibuster {

std::vector<std::string> absent_services(const Config& config) {
  std::vector<std::string> out;
  for (const ServiceConfig& service : config.services) {
    if (!service.is_by_hand()) continue;
    for (const auto& [name, port] : service.ports) {
      if (port == 0 || accepts(service.host, port)) continue;
      const std::string host = service.host.empty() ? "127.0.0.1" : service.host;
      out.push_back("nothing listens at " + host + ":" + std::to_string(port) + " (service " +
                    service.name + ", which somebody else starts)");
    }
  }
  return out;
}

}  // namespace filibuster
