// `filibuster analyze`: which faults can a service return? It starts nothing and needs no daemon.
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

#include "cli/analyzer.h"
#include "cli/configuration.h"
#include "cli/verb.h"
#include "core/text/json_comments.h"

namespace filibuster::cli {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

struct AnalyzeOptions {
  std::string config_file;
  std::vector<std::string> sources, openapi, proto;  // NAME=PATH; in `proto` also PATH alone
  std::vector<std::string> observed;                 // FILE
  std::string root = ".filibuster";
  std::string format = "text";
  std::string write;
  bool force = false;
};

std::string absolute(const std::string& path) {
  std::error_code failed;
  return (fs::current_path(failed) / path).lexically_normal().string();
}

Result<AnalysisTask> read_task(const AnalyzeOptions& options) {
  constexpr const char* kDefaultFile = "filibuster.json";
  AnalysisTask task;
  task.directory = absolute("");
  const bool there = access(kDefaultFile, F_OK) == 0;
  const bool described =
      !options.sources.empty() || !options.openapi.empty() ||
      std::any_of(options.proto.begin(), options.proto.end(), [](const std::string& text) {
        return text.find('=') != std::string::npos;  // with the name of a service
      });
  if (options.config_file.empty() && !there) {
    if (described) return task;
    return Error{
        "there is no filibuster.json in this directory; name a configuration with -c FILE, or "
        "what describes a service with --source NAME=PATH, --openapi NAME=FILE or --proto "
        "NAME=FILE"};
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
    // Sources say nothing about the answers of Redis. Its default set depends on the command alone.
    if (!service.ignored && service.protocol != Protocol::kRedis)
      task.services.push_back(std::move(service));
  }
  task.text = std::move(text).value();
  return task;
}

// Adds NAME=PATH of an option to the service of that name. Without a configuration the service may be
// new.
Result<void> apply(const std::vector<std::string>& texts, const char* option,
                   std::vector<std::string> ServiceConfig::*member, AnalysisTask* task) {
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      return Error{std::string(option) + " " + text +
                   ": expected NAME=PATH, for example users=./users"};
    }
    const std::string name = text.substr(0, equals);
    auto service = std::find_if(task->services.begin(), task->services.end(),
                                [&](const ServiceConfig& one) { return one.name == name; });
    if (service == task->services.end()) {
      if (!task->text.empty()) {
        return Error{std::string(option) + " " + text + ": the configuration has no service '" +
                     name + "'"};
      }
      task->services.push_back({});
      service = task->services.end() - 1;
      service->name = name;
    }
    ((*service).*member).push_back(absolute(text.substr(equals + 1)));
  }
  return {};
}

Result<AnalysisTask> task_of(const AnalyzeOptions& options) {
  Result<AnalysisTask> read = read_task(options);
  if (!read) return read;
  AnalysisTask& task = read.value();
  if (auto done = apply(options.sources, "--source", &ServiceConfig::sources, &task); !done)
    return done.error();
  if (auto done = apply(options.openapi, "--openapi", &ServiceConfig::openapi, &task); !done)
    return done.error();
  for (const std::string& path : options.observed) task.reports.push_back(absolute(path));
  if (const std::string last = absolute(options.root) + "/report.json";
      options.observed.empty() && access(last.c_str(), F_OK) == 0)
    task.reports.push_back(last);
  for (const std::string& text : options.proto) {
    if (text.find('=') == std::string::npos) {
      task.proto.push_back(absolute(text));
    } else if (auto done = apply({text}, "--proto", &ServiceConfig::proto, &task); !done) {
      return done.error();
    }
  }
  return read;
}

// The configuration with the proposal as its `faults`. Rules that a person wrote (without evidence) stay
// in front, where they decide; `kept` is their number.
std::string document(const AnalysisTask& task, const OrderedJson& rules, size_t* kept) {
  OrderedJson out =
      task.text.empty() ? OrderedJson::object() : OrderedJson::parse(without_comments(task.text));
  OrderedJson all = OrderedJson::array();
  if (const auto before = out.find("faults"); before != out.end() && before->is_array()) {
    for (const OrderedJson& rule : *before) {
      if (!rule.contains("evidence")) all.push_back(rule);
    }
  }
  *kept = all.size();
  for (const OrderedJson& rule : rules) all.push_back(rule);
  out["faults"] = std::move(all);
  return out.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

int write_document(const AnalyzeOptions& options, const AnalysisTask& task,
                   const std::string& text) {
  const std::string path = absolute(options.write);
  // The commands and relative paths of a configuration start from its folder.
  if (!task.text.empty() && fs::path(path).parent_path().string() != task.directory) {
    return complain(kUsage, "--write " + options.write + ": expected a file in " + task.directory +
                                ", where the configuration is, since its commands run there");
  }
  // The file gets its name when it is whole: what stands there under that name is not lost before.
  const std::string unfinished = path + ".new-" + std::to_string(getpid());
  FILE* file = std::fopen(unfinished.c_str(), "wxe");
  bool good = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  int error = errno;
  if (file != nullptr && std::fclose(file) != 0 && good) {
    good = false;
    error = errno;
  }
  // link() fails if the name is taken, and rename() if it is a folder's.
  if (good && (options.force ? std::rename(unfinished.c_str(), path.c_str())
                             : link(unfinished.c_str(), path.c_str())) != 0) {
    good = false;
    error = errno;
  }
  if (file != nullptr) unlink(unfinished.c_str());
  if (!good && error == EEXIST)
    return complain(kUsage, options.write + " is there already; --force replaces it");
  if (!good) return complain(kEnvironment, options.write + ": " + std::strerror(error));
  std::cerr << "filibuster: wrote " << options.write;
  if (!task.text.empty()) std::cerr << "; `filibuster run -c " << options.write << "` explores it";
  std::cerr << "\n";
  return kNothingFound;
}

// A document that is not there is said so, whatever else is missing. "": all are there.
std::string missing_document(const AnalyzeOptions& options) {
  for (const auto* documents : {&options.openapi, &options.proto}) {
    for (const std::string& document : *documents) {
      const size_t mark = document.find('=');
      if (mark == std::string::npos && documents == &options.openapi)
        continue;  // said by task_of()
      const std::string file = document.substr(mark + 1);
      if (access(file.c_str(), R_OK) != 0) return file + ": " + std::strerror(errno);
    }
  }
  return "";
}

int analyze(const AnalyzeOptions& options) {
  if (const std::string missing = missing_document(options); !missing.empty())
    return complain(kUsage, missing);
  Result<AnalysisTask> task = task_of(options);
  if (!task) return complain(kUsage, task.error().message);
  Analyzer analyzer(task.value());
  const auto facts = analyzer.run();
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
  std::cout << analysis::to_text(proposals);
  for (const std::string& line : analyzer.remarks()) std::cout << "\nnote: " << line << "\n";
  std::cout << std::flush;
  return options.write.empty() ? kNothingFound : write_document(options, task.value(), text);
}

Work declare_analyze(CLI::App& app) {
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
  app.add_option("--observed", options->observed,
                 "the report.json of an earlier run: what services answered when others failed "
                 "(repeatable; default: that of DIR, if it is there)")
      ->type_name("FILE")
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
    "  filibuster run -c proposed.json                  # then again: what was observed counts, "
    "too\n"
    "  filibuster analyze --source users=./users --source movies=./movies --format json\n"
    "\nExit status: 0 done, 2 usage, configuration or document, 3 FILE cannot be written;\n"
    "filibuster(1) has the table.\n",
    "", declare_analyze};

}  // namespace filibuster::cli
