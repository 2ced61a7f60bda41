// What documents say about a service: OpenAPI 3 and Swagger 2 (YAML or JSON), and .proto files.
#pragma once

#include <string>
#include <vector>

#include "cli/analysis/scan.h"
#include "core/result.h"

namespace filibuster::analysis {

struct ApiDocument {
  std::vector<Evidence> evidence;
  std::vector<Endpoint> endpoints;  // every operation
  std::vector<std::string> notes;   // what was not followed
};
// `file` is the name that messages show. The Error is "file:line:column: what was expected".
Result<ApiDocument> read_openapi(const std::string& file, const std::string& text);

// The services that a .proto file declares, with their methods. Imports are not followed: a
// service's methods stand in its own file.
Result<std::vector<GrpcMethod>> read_proto(const std::string& file, const std::string& text);

}  // namespace filibuster::analysis
