// The text of the configuration, from a file or from the command line. Only the daemon reads its
// content; here it is only checked that the text can be sent (UTF-8).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace filibuster::cli {

struct CommandLineConfiguration {
  std::vector<std::string> services;       // NAME=COMMAND; NAME alone for one started by hand
  std::vector<std::string> ports;          // NAME=NUMBER: the fixed port of a service
  std::vector<std::string> third_parties;  // NAME=HOST:PORT
  std::vector<std::string> faults;         // texts as in the configuration, for every RPC
  std::vector<std::string> command;        // the test; with a runner, where its tests are
  std::string runner{};  // of a suite that exists already; "": `command` is the test
  std::vector<std::string> descriptors{};  // files of protoc --descriptor_set_out
  std::vector<std::string> attached{};     // NAME=pid:4711, NAME=port:8080, ...: runs already
};
// The Error is one of usage.
Result<std::string> configuration_text(const CommandLineConfiguration& from);

// "pytest test_it.py" for {"/usr/bin/pytest", "./tests/test_it.py", "-v"}, "curl localhost-80-home"
// for {"curl", "-s", "http://localhost:80/home?x"}. The test's results, files too, have this name.
std::string test_name(const std::vector<std::string>& command);

// "file:3:7: message" if `text` is not UTF-8.
std::optional<std::string> utf8_error(std::string_view text, std::string_view file);

// The Error names the file and the reason. A file larger than `most` bytes is refused, and so is a named
// FIFO, which may wait for its writer for ever. Pipes that are open already are read (`-c <(...)`,
// /dev/stdin).
Result<std::string> read_file(const std::string& path, size_t most = 16u << 20);

}  // namespace filibuster::cli
