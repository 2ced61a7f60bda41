// `filibuster analyze`: which faults can a service return? Nothing is started, no daemon is needed.
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Validators.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "analysis/documents.h"
#include "analysis/imports.h"
#include "analysis/proposal.h"
#include "cli/configuration.h"
#include "cli/source_files.h"
#include "cli/verb.h"
#include "daemon/config/config.h"

namespace filibuster::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using analysis::ServiceFacts;

struct AnalyzeOptions {
  std::string config_file;
  std::vector<std::string> sources, openapi, proto;  // NAME=PATH; of `proto` also PATH alone
  std::string root = ".filibuster";
  std::string format = "text";
  std::string write;
  bool force = false;
};

// What is looked at for one service.
struct Service {
  ServiceConfig config;
  bool given = false;  // `sources` were given
};

struct Task {
  std::string directory;  // where the configuration is, absolute
  std::string text;       // of the configuration; empty: none
  std::vector<Service> services;
  std::vector<std::string> proto;  // of all
};

std::string absolute(const std::string& path) {
  std::error_code failed;
  return (fs::current_path(failed) / path).lexically_normal().string();
}

Result<Task> read_task(const AnalyzeOptions& options) {
  constexpr const char* kDefaultFile = "filibuster.json";
  Task task;
  task.directory = absolute("");
  const bool there = access(kDefaultFile, F_OK) == 0;
  const bool described = !options.sources.empty() || !options.openapi.empty();
  if (options.config_file.empty() && !there) {
    if (described) return task;
    return Error{
        "there is no filibuster.json in this directory; name a configuration with -c FILE, or "
        "sources with --source NAME=PATH"};
  }
  const std::string file = options.config_file.empty() ? kDefaultFile : options.config_file;
  Result<std::string> text = read_file(file);
  if (!text) return text.error();
  if (auto error = utf8_error(text.value(), file)) return Error{*error};
  task.directory = fs::path(absolute(file)).parent_path().string();
  ParsedConfig parsed = parse_config(text.value(), file, task.directory);
  if (!parsed.errors.empty()) {
    std::string all;
    for (const ConfigError& error : parsed.errors) {
      all += (all.empty() ? "" : "\n") + error.file + ":" + std::to_string(error.line) + ":" +
             std::to_string(error.column) + ": " + error.message;
    }
    return Error{all};
  }
  for (ServiceConfig& service : parsed.config.services) {
    if (!service.ignored) task.services.push_back({std::move(service), false});
  }
  task.text = std::move(text).value();
  return task;
}

// NAME=PATH of an option into the service of that name, which may be a new one.
Result<void> apply(const std::vector<std::string>& texts, const char* option,
                   std::vector<std::string> ServiceConfig::*member, Task* task) {
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      return Error{std::string(option) + " " + text +
                   ": expected NAME=PATH, for example users=./users"};
    }
    const std::string name = text.substr(0, equals);
    auto service = std::find_if(task->services.begin(), task->services.end(),
                                [&](const Service& one) { return one.config.name == name; });
    if (service == task->services.end()) {
      if (!task->text.empty()) {
        return Error{std::string(option) + " " + text + ": the configuration has no service '" +
                     name + "'"};
      }
      task->services.push_back({});
      service = task->services.end() - 1;
      service->config.name = name;
    }
    (service->config.*member).push_back(absolute(text.substr(equals + 1)));
  }
  return {};
}

Result<Task> task_of(const AnalyzeOptions& options) {
  Result<Task> read = read_task(options);
  if (!read) return read;
  Task& task = read.value();
  if (auto done = apply(options.sources, "--source", &ServiceConfig::sources, &task); !done)
    return done.error();
  if (auto done = apply(options.openapi, "--openapi", &ServiceConfig::openapi, &task); !done)
    return done.error();
  for (const std::string& text : options.proto) {
    if (text.find('=') == std::string::npos) {
      task.proto.push_back(absolute(text));
    } else if (auto done = apply({text}, "--proto", &ServiceConfig::proto, &task); !done) {
      return done.error();
    }
  }
  return read;
}

std::vector<std::string> words_of(const Command& command) {
  if (command.argv.size() == 3 && command.argv[0] == "/bin/sh" && command.argv[1] == "-c")
    return analysis::shell_words(command.argv[2]);
  return command.argv;
}

class Analyzer {
 public:
  explicit Analyzer(const Task& task) : task_(task), files_(task.directory) {}

  Result<std::vector<ServiceFacts>> run() {
    std::vector<ServiceFacts> out;
    std::vector<analysis::GrpcMethod> shared;
    if (auto read = methods_of(task_.proto, &shared); !read) return read.error();
    for (const Service& service : task_.services) {
      auto facts = facts_of(service, shared);
      if (!facts) return facts.error();
      out.push_back(std::move(facts).value());
    }
    return out;
  }

 private:
  Result<std::string> read_text(const std::string& path) const {
    Result<std::string> text = read_file(path);
    if (!text) return text.error();
    if (auto error = utf8_error(text.value(), files_.shown(path))) return Error{*error};
    return text;
  }

  Result<void> methods_of(const std::vector<std::string>& paths,
                          std::vector<analysis::GrpcMethod>* out) const {
    for (const std::string& path : paths) {
      const auto text = read_text(path);
      if (!text) return text.error();
      auto methods = analysis::read_proto(files_.shown(path), text.value());
      if (!methods) return methods.error();
      out->insert(out->end(), methods.value().begin(), methods.value().end());
    }
    return {};
  }

  Result<ServiceFacts> facts_of(const Service& service, std::vector<analysis::GrpcMethod> methods) {
    const ServiceConfig& config = service.config;
    ServiceFacts facts;
    facts.name = config.name;
    bool http = config.ready.kind == ReadyCheck::Kind::kHttp, grpc = false;
    if (auto read = methods_of(config.proto, &methods); !read) return read.error();
    if (auto read = look_at_sources(config, methods, &facts, &http, &grpc); !read)
      return read.error();
    for (const std::string& path : config.openapi) {
      const auto text = read_text(path);
      if (!text) return text.error();
      auto document = analysis::read_openapi(files_.shown(path), text.value());
      if (!document) return document.error();
      analysis::ApiDocument& api = document.value();
      facts.looked_at = http = true;
      facts.looked_in.push_back(files_.shown(path));
      std::move(api.evidence.begin(), api.evidence.end(), std::back_inserter(facts.evidence));
      std::move(api.endpoints.begin(), api.endpoints.end(), std::back_inserter(facts.endpoints));
      std::move(api.notes.begin(), api.notes.end(), std::back_inserter(facts.remarks));
    }
    // Nobody but the session asks whether it is ready.
    const std::string& probe = config.ready.http_path;
    std::erase_if(facts.endpoints, [&](const analysis::Endpoint& one) {
      return !probe.empty() && one.path == probe;
    });
    facts.protocol = http && grpc ? analysis::Protocol::kBoth
                     : grpc       ? analysis::Protocol::kGrpc
                     : http       ? analysis::Protocol::kHttp
                                  : analysis::Protocol::kUnknown;
    return facts;
  }

  Result<void> look_at_sources(const ServiceConfig& config,
                               const std::vector<analysis::GrpcMethod>& methods,
                               ServiceFacts* facts, bool* http, bool* grpc) {
    if (config.sources.empty() && config.third_party) {
      // What is started here in its place says nothing of the real one.
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
    facts->looked_in = scan.frameworks;
    facts->looked_in.push_back(found->shown);
    facts->evidence = std::move(scan.evidence);
    facts->endpoints = std::move(scan.endpoints);
    facts->passed_on = std::move(scan.passed_on);
    facts->remarks = std::move(found->remarks);
    *http = scan.serves_http || (*http && !scan.serves_grpc);
    *grpc = scan.serves_grpc || !scan.services.empty();
    return {};
  }

  const Task& task_;
  SourceFiles files_;
};

// The configuration with the proposal as its `faults`. Rules of a person (without evidence) stay in
// front, where they decide.
std::string document(const Task& task, const Json& rules, size_t* kept) {
  Json out = task.text.empty() ? Json::object() : Json::parse(task.text);
  Json all = Json::array();
  if (const auto before = out.find("faults"); before != out.end() && before->is_array()) {
    for (const Json& rule : *before) {
      if (!rule.contains("evidence")) all.push_back(rule);
    }
  }
  *kept = all.size();
  for (const Json& rule : rules) all.push_back(rule);
  out["faults"] = std::move(all);
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

int write_document(const AnalyzeOptions& options, const Task& task, const std::string& text) {
  const std::string path = absolute(options.write);
  // Its commands and paths begin where it stands.
  if (!task.text.empty() && fs::path(path).parent_path().string() != task.directory) {
    return complain(kUsage, "--write " + options.write + ": expected a file in " + task.directory +
                                ", where the configuration is, since its commands run there");
  }
  if (options.force) std::remove(path.c_str());
  // "x": it must not be there.
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "wxe"), std::fclose);
  if (!file && errno == EEXIST)
    return complain(kUsage, options.write + " is there already; --force replaces it");
  if (!file || std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() ||
      std::fflush(file.get()) != 0)
    return complain(kEnvironment, options.write + ": " + std::strerror(errno));
  std::cerr << "filibuster: wrote " << options.write;
  if (!task.text.empty()) std::cerr << "; `filibuster run -c " << options.write << "` explores it";
  std::cerr << "\n";
  return kNothingFound;
}

int analyze(const AnalyzeOptions& options) {
  Result<Task> task = task_of(options);
  if (!task) return complain(kUsage, task.error().message);
  const auto facts = Analyzer(task.value()).run();
  if (!facts) return complain(kUsage, facts.error().message);
  const auto proposals = analysis::propose(facts.value());
  size_t kept = 0;
  const std::string text = document(task.value(), analysis::to_json(proposals), &kept);
  if (kept > 0) {
    std::cerr << "filibuster: the rules of the configuration that have no evidence stay in front ("
              << kept << ")\n";
  }
  if (options.format == "json" && options.write.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return kNothingFound;
  }
  std::cout << analysis::to_text(proposals) << std::flush;
  return options.write.empty() ? kNothingFound : write_document(options, task.value(), text);
}

Work declare(CLI::App& app) {
  auto options = std::make_shared<AnalyzeOptions>();
  app.add_option("-c,--config", options->config_file,
                 "the configuration (default: filibuster.json, if it is there)")
      ->type_name("FILE");
  app.add_option(
         "--source", options->sources,
         "a file or folder with sources of a service (repeatable; default: the program that "
         "its command names and what it imports, else its folder)")
      ->type_name("NAME=PATH")
      ->allow_extra_args(false);
  app.add_option("--openapi", options->openapi,
                 "an OpenAPI 3 or Swagger 2 document of a service, YAML or JSON (repeatable)")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
  app.add_option("--proto", options->proto, "a .proto file, of one service or of all (repeatable)")
      ->type_name("[NAME=]FILE")
      ->allow_extra_args(false);
  app.add_option("--root", options->root, "where runs keep their results")
      ->type_name("DIR")
      ->capture_default_str();
  app.add_option("--format", options->format,
                 "text: for people; json: the configuration with the proposal as its 'faults'")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  app.add_option("--write", options->write,
                 "write that configuration to FILE, which must not be there")
      ->type_name("FILE");
  app.add_flag("--force", options->force, "--write replaces a file that is there");
  return [options](const Invocation&) { return analyze(*options); };
}

}  // namespace

const Verb kAnalyzeVerb = {
    "analyze",
    "which faults can a service return? From its sources and documents, with the evidence",
    "  filibuster analyze                               # the services of filibuster.json\n"
    "  filibuster analyze --openapi users=openapi.yaml --proto shop.proto\n"
    "  filibuster analyze --write proposed.json         # read and edit it, then:\n"
    "  filibuster run -c proposed.json\n"
    "  filibuster analyze --source users=./users --source movies=./movies --format json\n"
    "\nExit status: 0 done, 2 usage, configuration or document, 3 FILE cannot be written.\n",
    "", declare};

}  // namespace filibuster::cli
