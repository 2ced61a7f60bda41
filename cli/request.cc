#include "cli/request.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "core/text/json_depth.h"
#include "core/text/shell_word.h"

namespace filibuster::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr const char* kDefaultFile = "filibuster.json";

OrderedJson envelope(const char* mode, const SessionOptions& options, const Client& client) {
  return OrderedJson{{"mode", mode},
                     {"client_pid", client.pid},
                     {"client_start_time", client.start_time},
                     {"application", client.application},
                     {"working_directory", client.directory},
                     {"tests", options.tests},
                     {"restart", options.restart},
                     {"coverage", options.coverage},
                     {"allow_untested", options.allow_untested},
                     {"profile", options.profile},
                     {"lanes", options.lanes == "auto" ? 0 : std::stoi(options.lanes)}};
}

OrderedJson overrides(const SessionOptions& options) {
  OrderedJson out = OrderedJson::object();
  if (!options.reduce.empty()) out["reduce"] = options.reduce;
  if (options.max_executions != 0) out["max_executions"] = options.max_executions;
  if (options.max_faults != 0) out["max_faults"] = options.max_faults;
  if (options.reference_executions != 0) out["reference_executions"] = options.reference_executions;
  if (!options.max_time.empty()) out["max_time"] = options.max_time;
  if (options.stop_at_first) out["stop_at_first"] = true;
  if (options.real_timeouts) out["fast_timeouts"] = false;
  if (options.snapshots) out["snapshots"] = *options.snapshots;
  if (options.no_reset) out["resets"] = false;
  for (const std::string& part : options.index_without) out["index"][part] = false;
  return out;
}

namespace fs = std::filesystem;

bool is_below(const fs::path& path, const fs::path& folder) {
  const auto differ = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return differ.first == folder.end();
}

// True for a regular file of this user that others may not write to.
bool is_own_file(const fs::path& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         status.st_uid == geteuid() && (status.st_mode & S_IWOTH) == 0;
}

// True if the file lies below `root` and is this user's own, and so comes from an exploration there.
bool is_of_root(const std::string& file, const std::string& root) {
  std::error_code failed;
  const fs::path whole = fs::canonical(file, failed);
  if (failed) return false;
  const fs::path folder = fs::canonical(root, failed);
  return !failed && is_below(whole, folder) && is_own_file(whole);
}

// The path of the configuration that a counterexample names, if it is this user's own; else "". The
// folder comes from the counterexample, so it only counts if the user works in it, above it or below.
std::string own_configuration(const std::string& directory, const std::string& path,
                              const Client& client) {
  std::error_code failed;
  const fs::path name = fs::path(path).filename();
  const fs::path folder = fs::canonical(directory, failed);
  if (failed || name.empty() || !is_own_file(folder / name)) return "";
  const fs::path here = fs::canonical(client.directory, failed);
  if (failed || (!is_below(folder, here) && !is_below(here, folder))) return "";
  return (folder / name).string();
}

// The lines of all texts that are not empty: `--changed "$(git diff --name-only main)"` gives several.
std::vector<std::string> lines_of(const std::vector<std::string>& texts) {
  std::vector<std::string> out;
  for (const std::string& text : texts) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (!line.empty()) out.push_back(line);
    }
  }
  return out;
}

}  // namespace

std::string command_to_go_on(const std::vector<std::string>& typed) {
  std::string out;
  bool own = true;  // not the words of the test
  for (const std::string& word : typed) {
    own = own && word != "--";
    // With it, the same command would begin anew.
    if (own && word == "--restart-session") continue;
    out += (out.empty() ? "" : " ") + shell_word(word);
  }
  return out;
}

Result<OrderedJson> session_request(const char* mode, const SessionOptions& options,
                                    const Client& client) {
  const CommandLineConfiguration& line = options.command_line;
  const bool described = !line.services.empty() || !line.ports.empty() ||
                         !line.third_parties.empty() || !line.attached.empty() ||
                         !line.runner.empty();
  OrderedJson request = envelope(mode, options, client);
  request["overrides"] = OrderedJson::object();
  if (!options.config_file.empty() && (options.has_command || described)) {
    return Error{"-c FILE describes services and tests; leave out " +
                 std::string(options.has_command ? "the command after '--'"
                                                 : "--runner, --service, --port, --third-party and "
                                                   "what is attached")};
  }
  if (options.has_command || described) {
    CommandLineConfiguration whole = line;
    // A configuration has a test. What is followed is nobody's: this one is not run.
    if (options.follow) whole.command = {"true"};
    if (whole.command.empty() && line.runner.empty()) {
      return Error{"the test is missing: write it after '--', as in `filibuster " +
                   std::string(mode) + " --service users=./users -- ./test`"};
    }
    Result<std::string> text = configuration_text(whole);
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
  if (!options.typed.empty()) request["command_line"] = command_to_go_on(options.typed);
  if (options.follow) request["follow"] = true;
  if (!client.day.empty()) request["day"] = client.day;
  if (!options.baseline.empty()) {
    const fs::path whole = fs::path(client.directory) / options.baseline;
    request["overrides"]["baseline"] = whole.lexically_normal().string();
  }
  if (!options.changed.empty()) request["changed_files"] = lines_of(options.changed);
  if (!options.representation.empty()) request["representation"] = options.representation;
  request["overrides"].update(overrides(options));
  // Without a configuration file, the faults are in the configuration text that was made above.
  if (!options.has_command && !line.faults.empty()) request["overrides"]["faults"] = line.faults;
  if (!options.has_command && !line.descriptors.empty()) {
    OrderedJson files = OrderedJson::array();
    for (const std::string& file : line.descriptors)
      files.push_back((fs::path(client.directory) / file).lexically_normal().string());
    request["overrides"]["descriptors"] = std::move(files);
  }
  return request;
}

Result<OrderedJson> replay_request(const std::string& path, const std::string& text,
                                   const SessionOptions& options, const Client& client) {
  if (auto error = utf8_error(text, path)) return Error{*error};
  if (is_nested_too_deep(text))
    return Error{path + ": nested too deep; expected a counterexample that a run wrote"};
  OrderedJson counterexample;
  try {
    counterexample = OrderedJson::parse(text);
  } catch (const OrderedJson::parse_error& error) {
    // `error.byte` counts from 1.
    const size_t at = std::min(text.size(), error.byte == 0 ? 0 : error.byte - 1);
    const auto begin = text.begin();
    const auto end = begin + static_cast<ptrdiff_t>(at);
    const auto lines = std::count(begin, end, '\n');
    const size_t line_start = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
    const size_t column = at - (line_start == std::string::npos ? 0 : line_start + 1);
    return Error{path + ":" + std::to_string(lines + 1) + ":" + std::to_string(column + 1) +
                 ": not valid JSON; expected a counterexample that a run wrote"};
  } catch (const OrderedJson::exception&) {  // which has no place
    return Error{path + ": a number is out of range; expected a counterexample that a run wrote"};
  }
  if (!counterexample.is_object() || !counterexample.contains("version") ||
      !counterexample.contains("test") || !counterexample.contains("faults")) {
    return Error{path + ": not a counterexample; expected a file that a run wrote to " +
                 options.root + "/counterexamples (an object with version, test and faults)"};
  }
  OrderedJson request = envelope("replay", options, client);
  const auto copy = [&](const char* key) {
    const auto found = counterexample.find(key);
    request[key] = found != counterexample.end() && found->is_string() ? *found : OrderedJson("");
  };
  copy("config_path");
  copy("config_text");
  copy("directory");
  for (const char* key : {"config_path", "directory"}) {
    if (request[key].get_ref<const std::string&>().find('\0') != std::string::npos)
      return Error{path + ": its '" + key + "' holds a zero byte; expected a path"};
  }
  if (request["directory"].get_ref<const std::string&>().empty())
    request["directory"] = client.directory;
  request["overrides"] = overrides(options);
  request["trusted"] = options.trust || is_of_root(path, options.root);
  const std::string own = own_configuration(request["directory"].get<std::string>(),
                                            request["config_path"].get<std::string>(), client);
  request["own_config"] = own;
  // The commands run in the folder of the configuration that vouches for them, however the
  // counterexample spelled that folder.
  if (!own.empty()) request["directory"] = fs::path(own).parent_path().string();
  request["counterexample"] = std::move(counterexample);
  return request;
}

}  // namespace filibuster::cli
