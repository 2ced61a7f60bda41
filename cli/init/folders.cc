#include "cli/init/folders.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace filibuster::init {

std::string normal_folder(const std::filesystem::path& path) {
  std::string out = path.lexically_normal().string();
  while (out.size() > 1 && out.ends_with('/')) out.pop_back();
  return out == "." ? "" : out;
}

std::optional<std::string> mounted_at(const Tree& service, const std::string& inside) {
  const auto volumes = service.find("volumes");
  if (volumes == service.end() || inside.empty()) return std::nullopt;
  for (const Tree& volume : *volumes) {
    std::string source = text_at(volume, "source"), target = text_at(volume, "target");
    if (volume.is_string()) {
      const std::string text = volume.get<std::string>();
      const size_t colon = text.find(':');
      if (colon == std::string::npos) continue;
      source = text.substr(0, colon);
      target = text.substr(colon + 1, text.find(':', colon + 1) - colon - 1);
    }
    while (target.size() > 1 && target.ends_with('/')) target.pop_back();
    if (!source.starts_with('.') || target.size() < 2) continue;
    if (inside == target) return normal_folder(source);
    if (inside.starts_with(target + "/"))
      return normal_folder(std::filesystem::path(source) / inside.substr(target.size() + 1));
  }
  return std::nullopt;
}

bool is_for_docker(const std::string& folder) {
  for (const std::filesystem::path& part : std::filesystem::path(folder)) {
    for (const char* const word :
         {"docker", ".docker", "dockerfiles", "deploy", "deployment", "build", "ci", "infra"}) {
      if (part == word) return true;
    }
  }
  return false;
}

bool names_path_inside(const std::string& command) {
  constexpr std::string_view kSystem[] = {"/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/",
                                          "/dev/", "/proc/", "/tmp/"};
  for (size_t at = command.find('/'); at != std::string::npos; at = command.find('/', at + 1)) {
    const bool begins =
        at == 0 || std::string_view(" '\"=<>:,").find(command[at - 1]) != std::string_view::npos;
    const std::string_view path = std::string_view(command).substr(at);
    if (!begins || path.size() < 2 || path[1] == '/' || path[1] == ' ') continue;
    if (std::none_of(std::begin(kSystem), std::end(kSystem),
                     [&](std::string_view one) { return path.starts_with(one); }))
      return true;
    at += path.substr(0, path.find_first_of(" '\"")).size() - 1;
  }
  return false;
}

}  // namespace filibuster::init
