// A Procfile, and the programs that listen now.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "cli/init/draft.h"
#include "core/text/shell_word.h"

namespace filibuster::init {
namespace {

namespace fs = std::filesystem;

// $PORT and ${PORT} stay: the environment has PORT. A command that names it may have any port.
DraftService with_port(std::string name, std::string command, const ReadFile& read) {
  DraftService out = server_of(command, read).value_or(DraftService());
  out.name = service_name(name);
  const bool any =
      command.find("$PORT") != std::string::npos || command.find("${PORT") != std::string::npos;
  if (any) {
    out.ports.clear();
  } else if (out.redis || out.left_alone) {
    return out;
  }
  out.worker = !any && out.name != "web";
  out.command = with_exec(command);
  out.any_port = true;
  if (!out.worker) out.env["PORT"] = "${port:" + out.name + "}";
  return out;
}

std::optional<uint16_t> hexadecimal_port(std::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == address.npos) return std::nullopt;
  uint16_t port = 0;
  const std::string_view digits = address.substr(colon + 1);
  const auto [end, failed] =
      std::from_chars(digits.data(), digits.data() + digits.size(), port, 16);
  return failed == std::errc() && end == digits.data() + digits.size() ? std::optional(port)
                                                                       : std::nullopt;
}

// Inode of a listening socket -> its port (proc(5), /proc/net/tcp).
void read_sockets(const char* file, std::map<std::string, uint16_t>* out) {
  constexpr const char* kListen = "0A";
  std::ifstream lines(file);
  std::string line;
  std::getline(lines, line);  // the heading
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    const std::vector<std::string> fields{std::istream_iterator<std::string>(words), {}};
    if (fields.size() < 10 || fields[3] != kListen) continue;
    if (const auto port = hexadecimal_port(fields[1])) out->emplace(fields[9], *port);
  }
}

// "users" for python3 /app/users.py, "shop" for java -jar shop.jar, "server" for ./server -p 80.
std::string program_name(const std::vector<std::string>& arguments) {
  static constexpr std::string_view kRuntimes[] = {"python", "node", "java", "ruby", "perl",
                                                   "php",    "sh",   "bash", "deno", "bun"};
  if (arguments.empty()) return "service";
  std::string name = fs::path(arguments[0]).filename();
  const bool runtime = std::any_of(std::begin(kRuntimes), std::end(kRuntimes),
                                   [&](std::string_view one) { return name.starts_with(one); });
  for (size_t i = 1; runtime && i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "-m" && i + 1 < arguments.size()) return arguments[i + 1];
    if (word.starts_with("-")) continue;
    name = fs::path(word).filename();
    break;
  }
  const size_t dot = name.find_last_of('.');
  return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
}

}  // namespace

Result<Draft> read_procfile(const std::string& file, const std::string& text,
                            const ReadFile& read) {
  Draft draft;
  draft.source = file;
  draft.origin = Draft::Origin::kProcfile;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    const size_t first = line.find_first_not_of(" \t");
    if (first == std::string::npos || line[first] == '#') continue;
    const size_t colon = line.find(':');
    const size_t command =
        colon == std::string::npos ? colon : line.find_first_not_of(" \t", colon + 1);
    if (colon == std::string::npos || colon == first || command == std::string::npos)
      return Error{file + ":" + std::to_string(number) + ":" + std::to_string(first + 1) +
                   ": expected NAME: COMMAND"};
    const std::string name = line.substr(first, colon - first);
    if (name == "release") continue;  // runs once, before a deployment
    draft.services.push_back(with_port(name, line.substr(command), read));
    DraftService& service = draft.services.back();
    // foreman and its kind give each line a port: 5000, 5100, ...
    const size_t given = 4900 + 100 * draft.services.size();
    if (service.env.contains("PORT") && given <= UINT16_MAX)
      service.known_at.push_back(static_cast<uint16_t>(given));
  }
  if (draft.services.empty()) return Error{file + ":1:1: expected at least one NAME: COMMAND"};
  return draft;
}

Draft read_listeners(const std::vector<Listener>& listeners, const std::string& here) {
  Draft draft;
  draft.source = "the programs that listen now";
  draft.origin = Draft::Origin::kListening;
  std::map<uint32_t, size_t> places;
  std::set<std::string> names;
  for (const Listener& one : listeners) {
    if (const auto known = places.find(one.pid); known != places.end()) {
      draft.services[known->second].ports.push_back(one.port);
      continue;
    }
    DraftService service;
    service.name = service_name(program_name(one.arguments));
    for (int i = 2; names.contains(service.name); ++i)
      service.name = service_name(program_name(one.arguments)) + "-" + std::to_string(i);
    names.insert(service.name);
    service.ports.push_back(one.port);
    const Server* const server = one.arguments.empty() ? nullptr : known_server(one.arguments[0]);
    service.server = server;
    if (server != nullptr && server->redis) {
      service.redis = true;
    } else if (server != nullptr) {
      service.left_alone = true;
    } else {
      for (const std::string& word : one.arguments)
        service.command += (service.command.empty() ? "exec " : " ") + shell_word(word);
      const std::string relative = fs::path(one.directory).lexically_relative(here).string();
      if (one.directory != here)
        service.directory =
            relative.empty() || relative.starts_with("..") ? one.directory : relative;
    }
    places.emplace(one.pid, draft.services.size());
    draft.services.push_back(std::move(service));
  }
  draft.remarks.push_back(
      "stop these programs before `filibuster run`, which starts them itself; or start them "
      "yourself with LD_PRELOAD and FILIBUSTER_SERVICE, and remove their commands here");
  draft.remarks.push_back(
      "the environment of the programs was not read: add what they need as 'env'");
  return draft;
}

std::vector<Listener> listeners() {
  std::map<std::string, uint16_t> sockets;
  read_sockets("/proc/net/tcp", &sockets);
  read_sockets("/proc/net/tcp6", &sockets);
  std::vector<Listener> out;
  std::error_code failed;
  for (const auto& process : fs::directory_iterator("/proc", failed)) {
    const std::string name = process.path().filename();
    uint32_t pid = 0;
    const auto [end, bad] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (bad != std::errc() || end != name.data() + name.size()) continue;
    std::set<uint16_t> ports;
    for (const auto& descriptor : fs::directory_iterator(process.path() / "fd", failed)) {
      const std::string target = fs::read_symlink(descriptor.path(), failed).string();
      if (!target.starts_with("socket:[")) continue;
      const auto known = sockets.find(target.substr(8, target.size() - 9));
      if (known != sockets.end()) ports.insert(known->second);
    }
    if (ports.empty()) continue;
    std::ifstream file(process.path() / "cmdline", std::ios::binary);
    const std::string line{std::istreambuf_iterator<char>(file), {}};
    std::vector<std::string> arguments;
    for (size_t at = 0; at < line.size();) {
      const size_t stop = std::min(line.find('\0', at), line.size());
      arguments.push_back(line.substr(at, stop - at));
      at = stop + 1;
    }
    const std::string directory = fs::read_symlink(process.path() / "cwd", failed).string();
    for (const uint16_t port : ports) out.push_back({pid, port, arguments, directory});
  }
  std::sort(out.begin(), out.end(), [](const Listener& a, const Listener& b) {
    return std::pair(a.pid, a.port) < std::pair(b.pid, b.port);
  });
  // The workers of a server share its socket: the first process is the one that was started.
  std::set<uint16_t> known;
  std::erase_if(out, [&](const Listener& one) { return !known.insert(one.port).second; });
  return out;
}

}  // namespace filibuster::init
