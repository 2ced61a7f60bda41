#include "cli/configuration.h"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

namespace filibuster::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string base_name(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

Result<Json> third_party(const std::string& text) {
  const Error bad{"--third-party " + text +
                  ": expected NAME=HOST:PORT, for example mail=mail.example.com:25"};
  const size_t equals = text.find('=');
  const size_t colon = text.rfind(':');
  if (equals == std::string::npos || equals == 0 || colon == std::string::npos ||
      colon <= equals + 1)
    return bad;
  std::string host = text.substr(equals + 1, colon - equals - 1);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  unsigned port = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, failed] = std::from_chars(text.data() + colon + 1, end, port);
  if (failed != std::errc() || rest != end || port == 0 || port > 65535) return bad;
  const std::string name = text.substr(0, equals);
  return Json{{"name", name}, {"third_party", true}, {"host", host}, {"ports", {{name, port}}}};
}

// Length of the UTF-8 sequence at `text[at]`, 0 if there is none (Unicode 15, Table 3-7).
size_t sequence_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
  };
  const auto in = [&](size_t i, unsigned low, unsigned high) {
    return byte(i) >= low && byte(i) <= high;
  };
  const unsigned b = byte(0);
  if (b < 0x80) return 1;
  if (b >= 0xC2 && b <= 0xDF) return in(1, 0x80, 0xBF) ? 2 : 0;
  if (b >= 0xE0 && b <= 0xEF) {
    const bool second = in(1, b == 0xE0 ? 0xA0 : 0x80, b == 0xED ? 0x9F : 0xBF);
    return second && in(2, 0x80, 0xBF) ? 3 : 0;
  }
  if (b >= 0xF0 && b <= 0xF4) {
    const bool second = in(1, b == 0xF0 ? 0x90 : 0x80, b == 0xF4 ? 0x8F : 0xBF);
    return second && in(2, 0x80, 0xBF) && in(3, 0x80, 0xBF) ? 4 : 0;
  }
  return 0;
}

}  // namespace

Result<std::string> configuration_text(const CommandLineConfiguration& from) {
  Json services = Json::array();
  for (const std::string& text : from.services) {
    const size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    if (name.empty()) return Error{"--service " + text + ": expected NAME=COMMAND"};
    Json service{{"name", name}};
    if (equals != std::string::npos && equals + 1 < text.size())
      service["command"] = text.substr(equals + 1);
    services.push_back(std::move(service));
  }
  for (const std::string& text : from.third_parties) {
    Result<Json> service = third_party(text);
    if (!service) return service.error();
    services.push_back(std::move(service).value());
  }
  Json config{{"version", 1}, {"services", std::move(services)}};
  config["tests"] = Json::array({{{"name", test_name(from.command)}, {"command", from.command}}});
  if (!from.faults.empty()) {
    config["faults"] = Json::array({{{"on", Json::object()}, {"inject", from.faults}}});
  }
  return config.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string test_name(const std::vector<std::string>& command) {
  std::string name = command.empty() ? "" : base_name(command[0]);
  for (size_t i = 1; i < command.size(); ++i) {
    const std::string& argument = command[i];
    if (argument.empty() || argument[0] == '-' || argument.find('\n') != std::string::npos)
      continue;
    name += " " + base_name(argument);
    break;
  }
  constexpr size_t kMaxName = 60;
  if (name.size() > kMaxName) name.resize(kMaxName);
  return name.empty() ? "test" : name;
}

std::optional<std::string> utf8_error(std::string_view text, std::string_view file) {
  int line = 1, column = 1;
  for (size_t at = 0; at < text.size(); ++column) {
    const size_t length = sequence_length(text, at);
    if (length == 0) {
      return std::string(file) + ":" + std::to_string(line) + ":" + std::to_string(column) +
             ": the file is not UTF-8 text: a byte sequence here is not a character";
    }
    if (text[at] == '\n') ++line, column = 0;
    at += length;
  }
  return std::nullopt;
}

Result<std::string> read_file(const std::string& path, size_t most) {
  const auto failure = [&] { return Error{path + ": " + std::strerror(errno)}; };
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rbe"), std::fclose);
  if (!file) return failure();
  std::string text;
  char buffer[65536];
  size_t got = 0;
  while ((got = std::fread(buffer, 1, sizeof buffer, file.get())) > 0) {
    text.append(buffer, got);
    if (text.size() > most) return Error{path + ": larger than " + std::to_string(most) + " bytes"};
  }
  if (std::ferror(file.get()) != 0) return failure();
  return text;
}

}  // namespace filibuster::cli
