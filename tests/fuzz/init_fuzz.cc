// One byte that chooses the reader, then a compose file, a Procfile, package.json, or a text with
// variables. In the first, what stands before a line %% is `.env`, and the Dockerfiles are the file
// itself. Reading it must survive anything, and what comes of it is
// JSON with comments. A text whose `$` are all doubled is read as it was.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/init/draft.h"
#include "cli/init/variables.h"
#include "core/text/json_comments.h"

namespace {

using namespace filibuster;

std::optional<std::string> variable(const std::string& name) {
  return name.size() % 2 == 0 ? std::optional(name) : std::nullopt;
}

void look_at_variables(const std::string& text) {
  init::Interpolator values(variable);
  (void)values(text);
  std::string doubled;
  for (const char c : text) doubled += c == '$' ? "$$" : std::string(1, c);
  if (init::Interpolator(variable)(doubled) != text) std::abort();
  std::map<std::string, std::string> lines;
  init::add_variables(text, variable, &lines);
  constexpr size_t kBound = size_t{16} << 20;  // the sum that Interpolator allows, with room
  size_t size = 0;
  for (const auto& [name, value] : lines) size += value.size();
  if (size > kBound) std::abort();
  // Between single quotes every text stands for itself.
  std::string plain = text;
  std::erase_if(plain, [](char c) { return c == '\''; });
  lines.clear();
  init::add_variables("A='" + plain + "'", variable, &lines);
  if (lines.size() != 1 || lines["A"] != plain) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  constexpr uint8_t kReaders = 6;
  std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % kReaders == 3) return look_at_variables(text), 0;
  std::optional<std::string> dot_env;
  if (const size_t end = text.find("\n%%\n"); end != std::string::npos) {
    dot_env = text.substr(0, end);
    text = text.substr(end + 4);
  }
  const init::ReadFile read = [&](const std::string& path) -> std::optional<std::string> {
    if (path == ".env") return dot_env;
    const bool known = path.ends_with("Dockerfile") || path.ends_with("ml") ||
                       path.ends_with("package.json") || path.ends_with(".conf");
    return known ? std::optional(text) : std::nullopt;
  };
  const init::ListFolders list = [](const std::string&) -> std::vector<std::string> {
    return {"a", "node_modules"};
  };
  const auto draft = data[0] % 3 == 0   ? init::read_compose("compose.yaml", text, read, variable)
                     : data[0] % 3 == 1 ? init::read_procfile("f", text, read)
                                        : init::read_package("f", text, read, list);
  if (!draft.ok()) return draft.error().message.empty() ? (std::abort(), 0) : 0;
  const std::string written = without_comments(init::to_configuration(draft.value()));
  if (!nlohmann::json::parse(written, nullptr, false).is_object()) std::abort();
  return 0;
}
