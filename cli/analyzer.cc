#include "cli/analyzer.h"

#include <algorithm>
#include <iterator>

#include "cli/analysis/documents.h"
#include "cli/analysis/imports.h"
#include "cli/configuration.h"

namespace filibuster::cli {
namespace {

using analysis::ServiceFacts;

std::vector<std::string> words_of(const Command& command) {
  if (command.argv.size() == 3 && command.argv[0] == "/bin/sh" && command.argv[1] == "-c")
    return analysis::shell_words(command.argv[2]);
  return command.argv;
}

template <typename T>
void append(std::vector<T> from, std::vector<T>* to) {
  std::move(from.begin(), from.end(), std::back_inserter(*to));
}

}  // namespace

Result<std::vector<ServiceFacts>> Analyzer::run() {
  std::vector<ServiceFacts> out;
  std::vector<analysis::GrpcMethod> shared;
  if (auto read = read_reports(); !read) return read.error();
  if (auto read = methods_of(task_.proto, &shared); !read) return read.error();
  for (const ServiceConfig* service : leaves_first()) {
    auto facts = facts_of(*service, shared);
    if (!facts) return facts.error();
    out.push_back(std::move(facts).value());
  }
  return out;
}

Result<std::string> Analyzer::read_text(const std::string& path) const {
  Result<std::string> text = read_file(path);
  if (!text) return text.error();
  if (auto error = utf8_error(text.value(), files_.shown(path))) return Error{*error};
  return text;
}

Result<void> Analyzer::read_reports() {
  for (const std::string& path : task_.reports) {
    const auto text = read_text(path);
    if (!text) return text.error();
    auto read = analysis::read_report(files_.shown(path), text.value());
    if (!read) return read.error();
    for (auto& [service, answers] : read->answers)
      append(std::move(answers), &seen_.answers[service]);
    for (auto& [caller, services] : read->asks) seen_.asks[caller].merge(services);
    seen_.speaks_http.merge(read->speaks_http);
    seen_.speaks_grpc.merge(read->speaks_grpc);
    seen_.explored |= read->explored;
  }
  if (!seen_.explored) {
    remarks_.push_back(
        "how services answer when a service that they call fails is not known, because nothing was "
        "explored yet: use `filibuster run`, then analyze again");
  }
  return {};
}

Result<void> Analyzer::methods_of(const std::vector<std::string>& paths,
                                  std::vector<analysis::GrpcMethod>* out) const {
  for (const std::string& path : paths) {
    const auto text = read_text(path);
    if (!text) return text.error();
    auto methods = analysis::read_proto(files_.shown(path), text.value());
    if (!methods) return methods.error();
    append(std::move(methods).value(), out);
  }
  return {};
}

// A service that has the port of another one in its environment counts as calling it.
void Analyzer::add_asked_by_port() {
  for (const ServiceConfig& one : task_.services) {
    for (const auto& [name, value] : one.env) {
      for (const ServiceConfig& other : task_.services) {
        for (const auto& [port, number] : other.ports) {
          if (one.name != other.name && value.find("${port:" + port + "}") != std::string::npos)
            seen_.asks[one.name].insert(other.name);
        }
      }
    }
  }
}

std::vector<const ServiceConfig*> Analyzer::leaves_first() {
  add_asked_by_port();
  std::vector<std::string> names;
  for (const ServiceConfig& one : task_.services) names.push_back(one.name);
  const analysis::LeavesFirst found = analysis::leaves_first(names, seen_.asks);
  for (const std::vector<std::string>& circle : found.circles) {
    std::string all;
    for (const std::string& name : circle) all += (all.empty() ? "" : ", ") + name;
    remarks_.push_back(all + (circle.size() == 1 ? " asks itself" : " ask each other in a circle") +
                       ", so none is a leaf: explore and analyze until nothing new comes");
  }
  std::vector<const ServiceConfig*> out;
  for (const std::string& name : found.order) {
    out.push_back(&*std::find_if(task_.services.begin(), task_.services.end(),
                                 [&](const ServiceConfig& one) { return one.name == name; }));
  }
  return out;
}

Result<ServiceFacts> Analyzer::facts_of(const ServiceConfig& config,
                                        std::vector<analysis::GrpcMethod> methods) {
  ServiceFacts facts;
  facts.name = config.name;
  bool http = config.ready.kind == ReadyCheck::Kind::kHttp, grpc = false;
  if (auto read = methods_of(config.proto, &methods); !read) return read.error();
  if (auto read = look_at_sources(config, methods, &facts, &http, &grpc); !read)
    return read.error();
  if (auto read = look_at_documents(config, &facts); !read) return read.error();
  http |= !config.openapi.empty();
  add_observations(&facts, &http, &grpc);
  // Only the session calls the path of the readiness check, so it needs no rule.
  const std::string& probe = config.ready.http_path;
  std::erase_if(facts.endpoints,
                [&](const analysis::Endpoint& one) { return !probe.empty() && one.path == probe; });
  facts.protocol = http && grpc ? analysis::Protocol::kBoth
                   : grpc       ? analysis::Protocol::kGrpc
                   : http       ? analysis::Protocol::kHttp
                                : analysis::Protocol::kUnknown;
  return facts;
}

Result<void> Analyzer::look_at_sources(const ServiceConfig& config,
                                       const std::vector<analysis::GrpcMethod>& methods,
                                       ServiceFacts* facts, bool* http, bool* grpc) {
  if (config.sources.empty() && config.third_party) {
    // The command starts a stand-in, which says nothing about the real service.
    if (!config.command.empty())
      facts->remarks.push_back("a third party: its command's sources were not looked at");
    return {};
  }
  if (config.sources.empty() && config.command.empty()) return {};
  const std::string directory = config.directory.empty() ? task_.directory : config.directory;
  auto found = config.sources.empty() ? files_.of_command(words_of(config.command), directory)
                                      : files_.below(config.sources);
  if (!found) return found.error();
  analysis::Scan scan = analysis::scan_service(found->sources, methods);
  facts->looked_at = scan.serves_http || scan.serves_grpc || !scan.evidence.empty();
  facts->looked_in = std::move(scan.frameworks);
  facts->looked_in.push_back(found->shown);
  facts->evidence = std::move(scan.evidence);
  facts->endpoints = std::move(scan.endpoints);
  facts->passed_on = std::move(scan.passed_on);
  facts->remarks = std::move(found->remarks);
  *http = scan.serves_http || (*http && !scan.serves_grpc);
  *grpc = scan.serves_grpc || !scan.services.empty();
  return {};
}

Result<void> Analyzer::look_at_documents(const ServiceConfig& config, ServiceFacts* facts) {
  for (const std::string& path : config.openapi) {
    const auto text = read_text(path);
    if (!text) return text.error();
    auto document = analysis::read_openapi(files_.shown(path), text.value());
    if (!document) return document.error();
    facts->looked_at = true;
    facts->looked_in.push_back(files_.shown(path));
    append(std::move(document->evidence), &facts->evidence);
    append(std::move(document->endpoints), &facts->endpoints);
    append(std::move(document->notes), &facts->remarks);
  }
  return {};
}

void Analyzer::add_observations(ServiceFacts* facts, bool* http, bool* grpc) {
  *http |= seen_.speaks_http.contains(facts->name);
  *grpc |= seen_.speaks_grpc.contains(facts->name);
  const auto found = seen_.answers.find(facts->name);
  if (found == seen_.answers.end()) return;
  facts->looked_in.push_back("what was observed");
  analysis::find_endpoints(facts->endpoints, &found->second);
  append(found->second, &facts->evidence);
  facts->looked_at = true;
}

}  // namespace filibuster::cli
