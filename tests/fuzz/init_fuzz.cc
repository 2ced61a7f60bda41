// One byte that chooses the reader, then a compose file, a Procfile, or package.json. Reading it must
// survive anything, and what comes of it is JSON with comments.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/init/draft.h"
#include "core/text/json_comments.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace filibuster;
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const init::ReadFile read = [&](const std::string& path) -> std::optional<std::string> {
    return path.ends_with("Dockerfile") ? std::optional(text) : std::nullopt;
  };
  const init::ReadVariable variable = [](const std::string& name) -> std::optional<std::string> {
    return name.size() % 2 == 0 ? std::optional(name) : std::nullopt;
  };
  const auto draft = data[0] % 3 == 0   ? init::read_compose("f", text, read, variable)
                     : data[0] % 3 == 1 ? init::read_procfile("f", text)
                                        : init::read_package("f", text, read);
  if (!draft.ok()) return draft.error().message.empty() ? (std::abort(), 0) : 0;
  const std::string written = without_comments(init::to_configuration(draft.value()));
  if (!nlohmann::json::parse(written, nullptr, false).is_object()) std::abort();
  return 0;
}
