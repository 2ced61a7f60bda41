// What a compose file and its Dockerfiles say of containers, and what that is for plain processes.
// For compose.cc.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/init/draft.h"

namespace filibuster::init {

struct Container {  // a service of the file, and what its Dockerfile adds
  DraftService draft;
  std::vector<std::string> hosts;  // the names by which others find it
  std::string image;               // that it runs, or on which its Dockerfile builds
  std::string entry, command;      // of the file, else of the Dockerfile
  bool has_entry = false;          // the entrypoint is said, be it as none
  bool built = false;
  std::string folder_inside;  // in which it runs in the container: "/app"
};

std::optional<uint16_t> port_of(std::string_view text);
void add_port(uint16_t port, DraftService* out);
// Words as one text for /bin/sh.
std::string shell_text(const std::vector<std::string>& words);
// "curl -f http://localhost:8080/health || exit 1" -> "/health"; "" if it asks nothing of this
// host.
std::string health_path(std::string_view command);

// dockerfile.cc: adds what the stage `target`, or the last one, says (Dockerfile reference). A
// stage has what the stage has on which it is built. `arguments` are those of the build.
void read_dockerfile(const std::string& text, const std::string& target,
                     const std::map<std::string, std::string>& arguments, Container* out);

// addresses.cc. Containers find each other by name; here each is at 127.0.0.1, at a port of its
// own. The ports that others name: "http://users:5000" in their environment.
void find_ports(std::vector<Container>* containers);
// Puts this machine's addresses into the command and the environment of a service.
void localize(DraftService* service, const std::vector<Container>& containers);
// Gives two ports to what somebody else starts at one, who may choose another.
void separate_servers(Draft* draft);

}  // namespace filibuster::init
