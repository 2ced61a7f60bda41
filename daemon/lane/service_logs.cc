#include "daemon/lane/service_logs.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace filibuster {
namespace {

// 0: there is none.
uint64_t size_of(const std::string& path) {
  std::error_code failed;
  const uint64_t size = std::filesystem::file_size(path, failed);
  return failed ? 0 : size;
}

}  // namespace

void ServiceLogs::begin() {
  for (const ServiceConfig& service : config_.services) {
    if (!service.command.empty()) sizes_[service.name] = size_of(lane_.log_path(service.name));
  }
}

std::vector<ServiceWrote> ServiceLogs::since() const {
  std::vector<ServiceWrote> out;
  for (const auto& [name, before] : sizes_) {
    const std::string path = lane_.log_path(name);
    const uint64_t size = size_of(path);
    // A service that was started again has a new log.
    const uint64_t from =
        std::max(size < before ? 0 : before, size > kMostBytes ? size - kMostBytes : 0);
    if (size == from) continue;
    std::ifstream file(path, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(from));
    std::string text(size - from, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
    out.push_back({name, std::move(text)});
  }
  return out;
}

}  // namespace filibuster
