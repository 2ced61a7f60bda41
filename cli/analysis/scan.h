// The lexical look at the sources of one service: which answers they give, where, and to which
// requests. It proves nothing: what is written somewhere counts as something that may be answered.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/analysis/patterns.h"
#include "cli/analysis/routes.h"
#include "cli/analysis/source.h"

namespace filibuster::analysis {

struct Place {
  std::string file;
  uint32_t line = 0;
  auto operator<=>(const Place&) const = default;
};
std::string to_text(const Place& place);  // "users.py:31"

// One answer of a service with what speaks for it.
struct Evidence {
  Answer answer;
  std::vector<Endpoint> endpoints;  // what is answered so; empty: anything
  std::string text;                 // "users.py:31: return jsonify(error=...), 404"
};

struct ServiceSources {
  // Given by a person or found as the folder of the service: all of it counts. Else the first file
  // is the program and the others are what it imports: of those only what is mentioned counts.
  bool closure = false;
  std::vector<std::shared_ptr<const Source>> files;
};

struct Scan {
  std::vector<Evidence> evidence;       // in the order of files and lines
  std::vector<Endpoint> endpoints;      // that the sources serve, of HTTP and gRPC
  std::vector<std::string> frameworks;  // "Flask (users.py:12)"
  std::vector<std::string> passed_on;   // "users.py:31: abort(response.status_code)"
  std::vector<std::string> services;    // short names of the gRPC services implemented
  bool serves_http = false, serves_grpc = false;
};
Scan scan_service(const ServiceSources& sources, const std::vector<GrpcMethod>& methods);

}  // namespace filibuster::analysis
