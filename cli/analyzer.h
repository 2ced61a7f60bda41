// What `filibuster analyze` looks at, and what it finds for each service. This part reads the files;
// analysis/ reads none.
#pragma once

#include <string>
#include <vector>

#include "cli/analysis/observed.h"
#include "cli/analysis/proposal.h"
#include "cli/source_files.h"
#include "core/result.h"
#include "daemon/config/config.h"

namespace filibuster::cli {

struct AnalysisTask {
  std::string directory;                // where the configuration is, absolute
  std::string text;                     // of the configuration; empty: none
  std::vector<ServiceConfig> services;  // with what is to be looked at; paths are absolute
  std::vector<std::string> proto;       // .proto files for all services
  std::vector<std::string> reports;     // report.json files of earlier runs
};

class Analyzer {
 public:
  explicit Analyzer(const AnalysisTask& task) : task_(task), files_(task.directory) {}

  // The facts of each service; a service comes after those that it asks. The Error is one of a document,
  // or of a path that does not exist.
  Result<std::vector<analysis::ServiceFacts>> run();
  // Remarks about all services, for people.
  const std::vector<std::string>& remarks() const { return remarks_; }

 private:
  Result<std::string> read_text(const std::string& path) const;
  Result<void> read_reports();
  Result<void> methods_of(const std::vector<std::string>& paths,
                          std::vector<analysis::GrpcMethod>* out) const;
  void add_asked_by_port();
  std::vector<const ServiceConfig*> leaves_first();
  Result<analysis::ServiceFacts> facts_of(const ServiceConfig& config,
                                          std::vector<analysis::GrpcMethod> methods);
  Result<void> look_at_sources(const ServiceConfig& config,
                               const std::vector<analysis::GrpcMethod>& methods,
                               analysis::ServiceFacts* facts, bool* http, bool* grpc);
  Result<void> look_at_documents(const ServiceConfig& config, analysis::ServiceFacts* facts);
  void add_observations(analysis::ServiceFacts* facts, bool* http, bool* grpc);

  const AnalysisTask& task_;
  SourceFiles files_;
  analysis::Observations seen_;
  std::vector<std::string> remarks_;
};

}  // namespace filibuster::cli
