// Which service a variable is about: by its name, or by an address that it holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/init/draft.h"

namespace filibuster::init {

// "product-catalog", "productCatalog" and PRODUCT_CATALOG have two words each, in small letters.
std::vector<std::string> small_words(std::string_view name);

// A service as others name it.
struct Peer {
  std::string name;                // its main port has this name, too
  std::vector<std::string> hosts;  // by which the original files find it
  std::vector<uint16_t> ports;     // at which they have its main port
  std::vector<uint16_t> others;    // its further ports
  const Server* server = nullptr;  // which known one it is
  bool free = false;               // its main port is any free one now
  bool tls = false;                // it speaks TLS
};

// What a variable holds, by the end of its name.
enum class Part : uint8_t { kOther, kPort, kHost, kAddress, kUrl };
struct VariableName {
  Part part = Part::kOther;
  // The words before that, in small letters, and those of them that are not in the name of every
  // other variable ("service", "api"): PAYMENTS_API_BASE_URL -> {"payments", "api", "base"}, {"payments"}
  std::vector<std::string> words, telling;
};
VariableName read_variable_name(std::string_view name);

// The one service that the name is about: GATEWAY_URL, API_GATEWAY_SERVICE_HOST, PG_PORT, DB_HOST.
// nullptr: none, or several.
const Peer* peer_about(const VariableName& name, const std::vector<Peer>& peers);

// host:port in a text. Places are those of bytes.
struct AddressIn {
  size_t host = 0, port = 0, end = 0;
  uint16_t number = 0;
};
// In the order of the text. What has a password behind its colon, or digits that go on, is none.
std::vector<AddressIn> addresses_in(std::string_view text);
bool is_loopback(std::string_view host);

// NAME=value before the program of a command: "exec env A=1 ./a", "A=1 ./a".
struct Assignment {
  std::string name;
  size_t value = 0, end = 0;  // places of the value
};
std::vector<Assignment> assignments_of(const std::string& command);

struct Link {
  const Peer* peer = nullptr;
  std::string value;
  bool host_only = false;  // the value names its host, and no port
};
// Who holds a value decides how much may be changed in it.
enum class From : uint8_t {
  kFiles,   // somebody gave it: only an address at which a service is becomes another
  kSource,  // a default in a source
};
// What a variable has to hold so that it leads to a service of these. `value` is what it holds now,
// or what would stand in for it. `self` is the service that reads it. nullopt: it leads nowhere, or
// to `self`. A name without a word that tells (BASE_URL) is about `general`.
std::optional<Link> link_to(std::string_view variable, const std::optional<std::string>& value,
                            From from, const std::vector<Peer>& peers, std::string_view self,
                            const Peer* general = nullptr);
// A command with its addresses in place: those of URLs, and of databases and other known servers. What
// else is an address may be where a program listens.
std::string linked_command(const std::string& text, const std::vector<Peer>& peers,
                           std::string_view self);

}  // namespace filibuster::init
