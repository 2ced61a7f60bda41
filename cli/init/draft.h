// A configuration in the making: what a compose file, a Procfile, package.json or the programs that
// listen now say of an application. Readers are pure: they get texts, and ask a Files for others.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace filibuster::init {

// A database, a broker or another server that applications use and do not build.
struct Server {
  std::string_view name;
  uint16_t port = 0;   // at which it listens by default; 0: it is not known
  bool redis = false;  // it speaks Redis' protocol
};

struct DraftService {
  std::string name;
  std::string command;    // "": somebody else starts it
  std::string directory;  // relative to the configuration; "": its folder
  std::map<std::string, std::string> env;
  std::vector<uint16_t> ports;  // that it listens at; the first is the main one
  // The main port stands in `command` or `env` as ${port:NAME}, so that any free one will do.
  bool any_port = false;
  // Tells it its port where nothing else does: "PORT".
  std::string port_variable = "PORT";
  std::string health;  // path that answers when it is ready; "": a connection is enough
  bool redis = false;
  bool left_alone = false;  // a database or another thing that is not interposed
  bool worker = false;      // nothing shows that it listens
  // How the original files speak of it: hosts beside its name, and ports that lead to the main one
  // (those that Compose publishes, those that foreman gives).
  std::vector<std::string> hosts;
  std::vector<uint16_t> known_at;
  uint16_t asked_at = 0;  // the main port as others write it behind its hosts; 0: it is not known
  const Server* server = nullptr;  // it is this known database or broker
  // Variables of `env` that hold the host of a service, and no port -> that service.
  std::map<std::string, std::string> host_only;
};

struct Draft {
  std::vector<DraftService> services;
  std::string test;  // command; "": one is proposed
  std::map<std::string, std::string> test_env;
  enum class Origin : uint8_t { kCompose, kProcfile, kPackage, kListening };
  Origin origin = Origin::kCompose;
  std::vector<std::string> remarks;  // what a person has to look at
  std::string source;                // "compose.yaml"
};

// The text of a file below the folder of the source; nullopt: it is not there.
using ReadFile = std::function<std::optional<std::string>(const std::string& path)>;
// The names of the folders in a folder below that of the source, in order.
using ListFolders = std::function<std::vector<std::string>(const std::string& path)>;
// The value of a variable, for ${NAME} in a compose file; nullopt: it is not set.
using ReadVariable = std::function<std::optional<std::string>(const std::string& name)>;

// The Error is "file:line:column: what was expected".
Result<Draft> read_compose(const std::string& file, const std::string& text, const ReadFile& read,
                           const ReadVariable& variable);
// Gives free ports where two services of a compose file have the same one, once all is known of the
// ports.
void separate_ports(Draft* draft);
Result<Draft> read_procfile(const std::string& file, const std::string& text, const ReadFile& read);
Result<Draft> read_package(const std::string& file, const std::string& text, const ReadFile& read,
                           const ListFolders& list);

// What listens on this machine and may be read by this user.
struct Listener {
  uint32_t pid = 0;
  uint16_t port = 0;
  std::vector<std::string> arguments;
  std::string directory;
};
Draft read_listeners(const std::vector<Listener>& listeners, const std::string& here);
std::vector<Listener> listeners();

// `command` with `exec` where it is one program, which then is the process that is started.
// Variables before it are given to it by `env`.
std::string with_exec(const std::string& command);
// A name that a service may have: other characters become '-'.
std::string service_name(std::string_view text);
// By the name of its image or program: "docker.io/bitnami/redis:7", "redis-server". nullptr: it is
// none.
const Server* known_server(std::string_view name);
// The service of a command that starts such a server, at the port that the command or the file of
// its settings gives it. nullopt: it starts something else.
std::optional<DraftService> server_of(const std::string& command, const ReadFile& read);

// The command of the functional tests that lie in the folder, or below it in `tests`: "exec pytest
// -q". "": there are none that are known.
std::string test_of_folder(const std::string& folder);

// The service that a test asks first: one that listens, is the application's own, and stands in front
// of the others. nullptr: there is none.
const DraftService* asked_first(const Draft& draft);

// filibuster.json, with the remarks as comments.
std::string to_configuration(const Draft& draft);

}  // namespace filibuster::init
