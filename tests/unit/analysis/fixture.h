// One service made of texts, looked at.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/analysis/scan.h"

namespace filibuster::analysis {

struct Text {
  std::string path, text;
};

// All files count (a folder that was given).
inline Scan scan(std::initializer_list<Text> files, std::vector<GrpcMethod> methods = {}) {
  ServiceSources sources;
  for (const Text& one : files) sources.files.push_back(read_source(one.path, one.text));
  return scan_service(sources, methods);
}
// The first file is the program; the others are what it imports.
inline Scan scan_program(std::initializer_list<Text> files) {
  ServiceSources sources;
  sources.closure = true;
  for (const Text& one : files) sources.files.push_back(read_source(one.path, one.text));
  return scan_service(sources, {});
}

// "status:404 users.py:3" for each, and " GET /users/*" behind where it is one endpoint's; without
// what frameworks answer by themselves.
inline std::vector<std::string> lines(const Scan& scan) {
  std::vector<std::string> out;
  for (const Evidence& one : scan.evidence) {
    if (one.text.ends_with("where an exception is not caught)")) continue;
    std::string line = fault_text(one.answer) + " " + one.text.substr(0, one.text.find(": "));
    for (const Endpoint& endpoint : one.endpoints) {
      line +=
          " " + (endpoint.grpc.empty() ? (endpoint.method + " " + endpoint.path) : endpoint.grpc);
    }
    out.push_back(line);
  }
  return out;
}
using Lines = std::vector<std::string>;

}  // namespace filibuster::analysis
