// Reads the tokens of the sources of one service: which answers they give, where, and to which requests.
// This proves nothing: a status that is written somewhere counts as one that may be answered.
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

// One answer of a service with the evidence for it.
struct Evidence {
  Answer answer;
  std::vector<Endpoint> endpoints;  // the requests that get this answer; empty: any request
  std::string text;                 // "users.py:31: return jsonify(error=...), 404"
};

struct ServiceSources {
  // True: the first file is the program, and the others are files that it imports, of which only what is
  // mentioned counts (reach.h). False: a person named the files, or they are those of the service's
  // folder, and all of them count.
  bool closure = false;
  std::vector<std::shared_ptr<const Source>> files;
};

struct Scan {
  std::vector<Evidence> evidence;       // in the order of files and lines
  std::vector<Endpoint> endpoints;      // that the sources serve, HTTP and gRPC
  std::vector<std::string> frameworks;  // "Flask (users.py:12)"
  std::vector<std::string> passed_on;   // "users.py:31: abort(response.status_code)"
  std::vector<std::string> services;    // short names of the gRPC services implemented
  bool serves_http = false, serves_grpc = false;
};
Scan scan_service(const ServiceSources& sources, const std::vector<GrpcMethod>& methods);

}  // namespace filibuster::analysis
