// The services of a compose file as a tree of texts: merge keys, `extends`, `include` and override
// files are resolved, and every value is interpolated.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/init/draft.h"
#include "cli/init/variables.h"

namespace filibuster::init {

using Tree = nlohmann::ordered_json;  // its scalars are strings, or null

struct ComposeService {
  std::string name;
  std::string place;  // "compose.yaml:3:3: "
  Tree tree;          // 'environment' and 'build' have their long forms, maps
};

struct ComposeFile {
  std::vector<ComposeService> services;
  std::vector<std::string> overrides;  // files that were put over this one
};

// `file`: the path for messages. `read` counts from its folder. The Error is "file:line:column:
// what was expected".
Result<ComposeFile> load_compose(const std::string& file, const std::string& text,
                                 const ReadFile& read, Interpolator* values);

// "" unless it is a text.
std::string text_at(const Tree& map, const char* key);

}  // namespace filibuster::init
