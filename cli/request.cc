#include "cli/request.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

namespace filibuster::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kDefaultFile = "filibuster.json";

Json envelope(const char* mode, const SessionOptions& options, const Client& client) {
  return Json{{"mode", mode},
              {"client_pid", client.pid},
              {"client_start_time", client.start_time},
              {"tests", options.tests},
              {"restart", options.restart},
              {"coverage", options.coverage}};
}

Json overrides(const SessionOptions& options) {
  Json out = Json::object();
  if (options.no_reduction) out["reduce"] = false;
  if (options.max_executions != 0) out["max_executions"] = options.max_executions;
  if (options.max_faults != 0) out["max_faults"] = options.max_faults;
  if (options.reference_executions != 0)
    out["reference_executions"] = options.reference_executions;
  if (options.stop_at_first) out["stop_at_first"] = true;
  if (options.real_timeouts) out["fast_timeouts"] = false;
  for (const std::string& part : options.index_without) out["index"][part] = false;
  return out;
}

}  // namespace

Result<Json> session_request(const char* mode, const SessionOptions& options,
                             const Client& client) {
  const CommandLineConfiguration& line = options.command_line;
  const bool described =
      !line.services.empty() || !line.ports.empty() || !line.third_parties.empty() ||
      !line.descriptors.empty();
  Json request = envelope(mode, options, client);
  if (!options.config_file.empty() && (options.has_command || described)) {
    return Error{"-c FILE describes services and tests; leave out " +
                 std::string(options.has_command ? "the command after '--'"
                                                 : "--service, --port, --third-party and "
                                                   "--descriptors")};
  }
  if (options.has_command || described) {
    if (line.command.empty()) {
      return Error{"the test is missing: write it after '--', as in `filibuster " +
                   std::string(mode) + " --service users=./users -- ./test`"};
    }
    Result<std::string> text = configuration_text(line);
    if (!text) return text.error();
    request["config_path"] = "";
    request["config_text"] = std::move(text).value();
    request["directory"] = client.directory;
  } else {
    const std::string file = options.config_file.empty() ? kDefaultFile : options.config_file;
    if (options.config_file.empty() && access(kDefaultFile, F_OK) != 0) {
      return Error{
          "there is no filibuster.json in this directory; name a configuration with -c FILE, or "
          "a test after '--'"};
    }
    Result<std::string> text = read_file(file);
    if (!text) return text.error();
    if (auto error = utf8_error(text.value(), file)) return Error{*error};
    request["config_path"] = file;
    request["config_text"] = std::move(text).value();
    const std::filesystem::path whole = std::filesystem::path(client.directory) / file;
    request["directory"] = whole.lexically_normal().parent_path().string();
  }
  if (!options.representation.empty()) request["representation"] = options.representation;
  request["overrides"] = overrides(options);
  // Without a file they stand in the configuration that was made above.
  if (!options.has_command && !line.faults.empty()) request["overrides"]["faults"] = line.faults;
  return request;
}

Result<Json> replay_request(const std::string& path, const std::string& text,
                            const SessionOptions& options, const Client& client) {
  if (auto error = utf8_error(text, path)) return Error{*error};
  Json counterexample;
  try {
    counterexample = Json::parse(text);
  } catch (const Json::parse_error& error) {
    // error.byte counts from 1.
    const size_t at = std::min(text.size(), error.byte == 0 ? 0 : error.byte - 1);
    const auto begin = text.begin();
    const auto end = begin + static_cast<ptrdiff_t>(at);
    const auto lines = std::count(begin, end, '\n');
    const size_t line_start = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
    const size_t column = at - (line_start == std::string::npos ? 0 : line_start + 1);
    return Error{path + ":" + std::to_string(lines + 1) + ":" + std::to_string(column + 1) +
                 ": not valid JSON; expected a counterexample that a run wrote"};
  }
  if (!counterexample.is_object() || !counterexample.contains("version") ||
      !counterexample.contains("test") || !counterexample.contains("faults")) {
    return Error{path + ": not a counterexample; expected a file that a run wrote to " +
                 options.root + "/counterexamples (an object with version, test and faults)"};
  }
  Json request = envelope("replay", options, client);
  const auto copy = [&](const char* key) {
    const auto found = counterexample.find(key);
    request[key] = found != counterexample.end() && found->is_string() ? *found : Json("");
  };
  copy("config_path");
  copy("config_text");
  copy("directory");
  if (request["directory"] == "") request["directory"] = client.directory;
  request["overrides"] = overrides(options);
  request["counterexample"] = std::move(counterexample);
  return request;
}

}  // namespace filibuster::cli
