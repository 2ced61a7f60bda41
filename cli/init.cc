#include <unistd.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>

#include "cli/configuration.h"
#include "cli/init/draft.h"
#include "cli/init/wiring.h"
#include "cli/output_file.h"
#include "cli/variable_reads.h"
#include "cli/verb.h"
#include "daemon/config/config.h"

namespace filibuster::cli {
namespace {

namespace fs = std::filesystem;

enum class Kind { kCompose, kProcfile, kPackage };
struct Source {
  const char* file;
  Kind kind;
};
// As they are looked for, best first.
constexpr Source kSources[] = {
    {"compose.yaml", Kind::kCompose},        {"compose.yml", Kind::kCompose},
    {"docker-compose.yaml", Kind::kCompose}, {"docker-compose.yml", Kind::kCompose},
    {"Procfile", Kind::kProcfile},           {"package.json", Kind::kPackage}};

struct InitOptions {
  std::string from, output = "filibuster.json";
  bool listening = false, force = false;
};

std::string names_of_sources() {
  std::string out;
  for (const Source& source : kSources) out += (out.empty() ? "" : ", ") + std::string(source.file);
  return out;
}

// By its name: "ci/compose.test.yml" is a compose file, too.
std::optional<Kind> kind_of_path(const fs::path& path) {
  if (path.extension() == ".yml" || path.extension() == ".yaml") return Kind::kCompose;
  if (path.filename().string().starts_with("Procfile")) return Kind::kProcfile;
  if (path.extension() == ".json") return Kind::kPackage;
  return std::nullopt;
}

std::optional<std::string> variable_of_environment(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

Result<init::Draft> read_source(const fs::path& path, Kind kind) {
  const Result<std::string> text = read_file(path.string());
  if (!text) return text.error();
  if (auto error = utf8_error(text.value(), path.string())) return Error{*error};
  const init::ReadFile read = [&](const std::string& name) -> std::optional<std::string> {
    const Result<std::string> other = read_file((path.parent_path() / name).string());
    return other.ok() ? std::optional(other.value()) : std::nullopt;
  };
  const init::ListFolders list = [&](const std::string& name) {
    std::vector<std::string> out;
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(path.parent_path() / name, failed)) {
      std::error_code unknown;
      if (entry.is_directory(unknown)) out.push_back(entry.path().filename().string());
    }
    std::sort(out.begin(), out.end());
    return out;
  };
  switch (kind) {
    case Kind::kCompose:
      return init::read_compose(path.string(), text.value(), read, variable_of_environment);
    case Kind::kProcfile:
      return init::read_procfile(path.string(), text.value(), read);
    case Kind::kPackage:
      break;
  }
  return init::read_package(path.string(), text.value(), read, list);
}

Result<init::Draft> draft_of(const InitOptions& options) {
  if (options.listening) {
    const auto found = init::listeners();
    if (found.empty())
      return Error{"no program that this user may look at listens for connections now"};
    return init::read_listeners(found, fs::current_path().string());
  }
  if (!options.from.empty()) {
    const auto kind = kind_of_path(options.from);
    if (!kind)
      return Error{options.from + ": expected a compose file (.yaml), a Procfile, or package.json"};
    return read_source(options.from, *kind);
  }
  std::error_code failed;
  for (const Source& source : kSources) {
    if (fs::exists(source.file, failed)) return read_source(source.file, source.kind);
  }
  return Error{"there is none of " + names_of_sources() +
               " here; name one, or use --listening for the programs that listen now"};
}

// Reads the sources of the services and of the test, and brings the services together by what these
// read.
void add_variables_of_sources(const std::string& folder, init::Draft* draft) {
  const std::vector<init::Reader> readers = variable_reads(folder, draft);
  init::learn_ports(readers, draft);
  if (draft->origin == init::Draft::Origin::kCompose) init::separate_ports(draft);
  init::wire(readers, variable_of_environment, draft);
}

int work(const InitOptions& options) {
  std::error_code failed;
  const bool to_output = options.output == "-";
  if (!to_output && !options.force && fs::exists(options.output, failed))
    return complain(kUsage, options.output + " is there already; --force replaces it");
  Result<init::Draft> draft = draft_of(options);
  if (!draft) return complain(kUsage, draft.error().message);
  // Commands run in the folder of the configuration, and the draft counts from that of its source.
  const fs::path there = fs::path(options.from).parent_path();
  if (draft->test.empty() && !options.listening) {
    draft->test = init::test_of_folder(there.string());
    if (!draft->test.empty())
      draft->remarks.push_back(
          "the test is what was found here: it has to ask the services, at their ports (its 'env', "
          "or PORT_NAME in its environment), and to pass");
  }
  const fs::path here = to_output ? fs::path() : fs::path(options.output).parent_path();
  if (fs::weakly_canonical(there.empty() ? "." : there, failed) !=
          fs::weakly_canonical(here.empty() ? "." : here, failed) &&
      !to_output && !options.from.empty())
    return complain(kUsage, "-c " + options.output + ": expected a file beside " + options.from +
                                ", since its commands run there");
  add_variables_of_sources(there.string(), &draft.value());
  const std::string text = init::to_configuration(draft.value());
  if (to_output) {
    std::fputs(text.c_str(), stdout);
    return kNothingFound;
  }
  if (auto written = replace_file(options.output, text); !written)
    return complain(kEnvironment, options.output + ": " + written.error().message);
  std::cerr << "filibuster: wrote " << options.output << " from " << draft->source << ": "
            << draft->services.size() << (draft->services.size() == 1 ? " service" : " services")
            << "\n";
  for (const std::string& remark : draft->remarks) std::cerr << "  look at: " << remark << "\n";
  const ParsedConfig parsed = parse_config(text, options.output, fs::current_path().string());
  for (const ConfigError& error : parsed.errors)
    std::cerr << error.file << ":" << error.line << ":" << error.column << ": " << error.message
              << "\n";
  std::cerr << "next: put your functional test into 'tests', then `filibuster trace`\n";
  return kNothingFound;
}

Work declare_init(CLI::App& app) {
  auto options = std::make_shared<InitOptions>();
  app.add_option("FROM", options->from,
                 "a compose file, a Procfile, or package.json (default: the first that is here)")
      ->type_name("");
  app.add_flag("--listening", options->listening,
               "from the programs that listen on this machine now");
  app.add_option("-c,--config,-o,--output", options->output,
                 "the file to write; - is standard output")
      ->type_name("FILE")
      ->capture_default_str();
  app.add_flag("--force", options->force, "replace the file if it is there");
  return [options](const Invocation&) {
    if (options->listening && !options->from.empty())
      return complain(kUsage, "--listening and " + options->from + " are two sources: give one");
    return work(*options);
  };
}

}  // namespace

const Verb kInitVerb = {
    "init", "write filibuster.json from a compose file, a Procfile, package.json, or what listens",
    "  filibuster init                          # compose.yaml, Procfile or package.json\n"
    "  filibuster init deploy/compose.yaml -c deploy/filibuster.json\n"
    "  filibuster init --listening -c -\n"
    "\nWhat a person has to look at stands in comments of the file. Containers become plain\n"
    "processes: their names in environment variables become addresses of this machine.\n"
    "Variables that sources of the services and of the test read get the address of the service\n"
    "that they are about; those that nothing sets are named with file and line.\n",
    "", declare_init};

}  // namespace filibuster::cli
