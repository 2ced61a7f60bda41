#include "cli/configuration.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/text/shell_word.h"
#include "daemon/suite/runner.h"

namespace filibuster::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string base_name(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

// nullopt if `text` is not the number of a port.
std::optional<unsigned> port_number(std::string_view text) {
  unsigned port = 0;
  const auto [rest, failed] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (failed != std::errc() || rest != text.data() + text.size() || port == 0 || port > 65535)
    return std::nullopt;
  return port;
}

Result<OrderedJson> third_party(const std::string& text) {
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
  const auto port = port_number(std::string_view(text).substr(colon + 1));
  if (!port) return bad;
  const std::string name = text.substr(0, equals);
  return OrderedJson{
      {"name", name}, {"third_party", true}, {"host", host}, {"ports", {{name, *port}}}};
}

// A service that runs already. What the words mean, and whether they are good, the daemon says.
Result<OrderedJson> attached_service(const std::string& text) {
  constexpr std::string_view kKinds[] = {"pid", "port", "cgroup", "name"};
  const Error bad{text + ": expected NAME=pid:PID, NAME=port:PORT, NAME=cgroup:PATH or " +
                  "NAME=name:PATTERN, for example users=port:8080"};
  const size_t equals = text.find('=');
  const size_t colon = text.find(':', equals == std::string::npos ? 0 : equals);
  if (equals == std::string::npos || equals == 0 || colon == std::string::npos) return bad;
  const std::string kind = text.substr(equals + 1, colon - equals - 1);
  const std::string value = text.substr(colon + 1);
  if (value.empty() || std::find(std::begin(kKinds), std::end(kKinds), kind) == std::end(kKinds))
    return bad;
  OrderedJson row{{"name", text.substr(0, equals)}};
  if (kind == "pid" || kind == "port") {
    uint32_t number = 0;
    const auto [rest, failed] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (failed != std::errc() || rest != value.data() + value.size()) return bad;
    row["attach"] = OrderedJson{{kind, number}};
  } else {
    row["attach"] = OrderedJson{{kind, value}};
  }
  return row;
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

// `text` as a part of a file's name that cannot be taken for an option. Each run of other characters
// becomes one dash.
std::string readable(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t length = sequence_length(text, at);
    const auto byte = static_cast<unsigned char>(text[at]);
    const bool plain = std::isalnum(byte) != 0 || byte == '.' || byte == '_';
    if (length > 1 || (length == 1 && byte < 0x80 && plain)) {
      out += text.substr(at, length);
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
    at += std::max<size_t>(length, 1);
  }
  const size_t first = out.find_first_not_of(".-");
  const size_t last = out.find_last_not_of(".-");
  return first == std::string::npos ? "" : out.substr(first, last - first + 1);
}

// A URL without its scheme, and without what changes from call to call or is private: user, query,
// fragment.
std::string address_of(std::string_view url) {
  url.remove_prefix(url.find("://") + 3);
  url = url.substr(0, url.find_first_of("?#"));
  if (const size_t at = url.substr(0, url.find('/')).rfind('@'); at != std::string_view::npos)
    url.remove_prefix(at + 1);
  return std::string(url);
}

// What a test is about: the first URL among the words of its arguments, else the first word that is no
// option.
std::string subject_of(const std::vector<std::string>& command) {
  std::string subject;
  for (size_t i = 1; i < command.size(); ++i) {
    std::istringstream words(command[i]);
    for (std::string word; words >> word;) {
      if (word.find("://") != std::string::npos) return address_of(word);
      if (!subject.empty() || word[0] == '-') continue;
      while (word.ends_with('/')) word.pop_back();
      subject = base_name(word);
    }
  }
  return subject;
}

// Adds each --port NAME=NUMBER to the service of that name.
Result<void> fix_ports(const std::vector<std::string>& ports, OrderedJson* services) {
  for (const std::string& text : ports) {
    const size_t equals = std::min(text.find('='), text.size());
    const std::string name = text.substr(0, equals);
    const auto number =
        port_number(std::string_view(text).substr(std::min(equals + 1, text.size())));
    if (name.empty() || !number)
      return Error{"--port " + text + ": expected NAME=NUMBER, for example users=8080"};
    const auto service = std::find_if(services->begin(), services->end(),
                                      [&](const OrderedJson& one) { return one["name"] == name; });
    if (service == services->end())
      return Error{"--port " + text + ": there is no --service " + name};
    if (service->contains("ports"))
      return Error{"--port " + text + ": service '" + name + "' has a port already"};
    (*service)["ports"] = OrderedJson{{name, *number}};
  }
  return {};
}

// Paths of the suite's tests, then options of its runner: "tests/ --timeout 5000". The first option ends the paths, since it may
// have values that look like a path.
Result<OrderedJson> suites_of(const std::string& runner, const std::vector<std::string>& words) {
  const auto options = std::find_if(words.begin(), words.end(),
                                    [](const std::string& word) { return word.starts_with('-'); });
  std::string program;
  if (options != words.end()) {
    const suite::Runner* const known = suite::find_runner(runner);
    program = known == nullptr ? "" : known->program;
    if (known != nullptr && program.empty())
      return Error{"-- " + *options + ": " + runner +
                   " has no options here; put them into 'program' of the suite"};
    for (auto word = options; word != words.end(); ++word) program += " " + shell_word(*word);
  }
  OrderedJson out = OrderedJson::array();
  const auto add = [&](const std::string& path) {
    OrderedJson one{{"runner", runner}};
    if (!program.empty()) one["program"] = program;
    if (!path.empty()) one["path"] = path;
    out.push_back(std::move(one));
  };
  std::for_each(words.begin(), options, add);
  if (out.empty()) add("");
  return out;
}

}  // namespace

Result<std::string> configuration_text(const CommandLineConfiguration& from) {
  OrderedJson services = OrderedJson::array();
  for (const std::string& text : from.services) {
    const size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    if (name.empty()) return Error{"--service " + text + ": expected NAME=COMMAND"};
    OrderedJson service{{"name", name}};
    if (equals != std::string::npos && equals + 1 < text.size())
      service["command"] = text.substr(equals + 1);
    services.push_back(std::move(service));
  }
  if (auto fixed = fix_ports(from.ports, &services); !fixed) return fixed.error();
  for (const std::string& text : from.third_parties) {
    Result<OrderedJson> service = third_party(text);
    if (!service) return service.error();
    services.push_back(std::move(service).value());
  }
  for (const std::string& text : from.attached) {
    Result<OrderedJson> service = attached_service(text);
    if (!service) return service.error();
    services.push_back(std::move(service).value());
  }
  OrderedJson config{{"version", 1}, {"services", std::move(services)}};
  if (from.runner.empty()) {
    config["tests"] =
        OrderedJson::array({{{"name", test_name(from.command)}, {"command", from.command}}});
  } else if (from.command.empty()) {
    config["tests"] = OrderedJson::array({{{"runner", from.runner}}});
  } else {
    auto suites = suites_of(from.runner, from.command);
    if (!suites) return suites.error();
    config["tests"] = std::move(suites).value();
  }
  if (!from.descriptors.empty()) config["descriptors"] = from.descriptors;
  if (!from.faults.empty()) {
    config["faults"] =
        OrderedJson::array({{{"on", OrderedJson::object()}, {"inject", from.faults}}});
  }
  return config.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

std::string test_name(const std::vector<std::string>& command) {
  const std::string program = command.empty() ? "" : readable(base_name(command[0]));
  std::string name = program;
  if (const std::string subject = readable(subject_of(command)); !subject.empty())
    name += (name.empty() ? "" : " ") + subject;
  constexpr size_t kMaxName = 60;  // bytes
  while (name.size() > kMaxName) {
    do {
      name.pop_back();
    } while ((static_cast<unsigned char>(name.back()) & 0xC0) == 0x80);
    if (static_cast<unsigned char>(name.back()) >= 0xC0) name.pop_back();
  }
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
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return failure();
  const std::unique_ptr<FILE, int (*)(FILE*)> file(fdopen(fd, "rb"), std::fclose);
  if (!file) {
    close(fd);
    return failure();
  }
  struct stat kind {};
  struct statfs where {};
  if (fstat(fd, &kind) == 0 && S_ISFIFO(kind.st_mode) && fstatfs(fd, &where) == 0 &&
      where.f_type != PIPEFS_MAGIC) {
    return Error{path + ": a named pipe (FIFO), expected a regular file"};
  }
  fcntl(fd, F_SETFL, O_RDONLY);  // reads wait as usual
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
