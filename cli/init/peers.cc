#include "cli/init/peers.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>

namespace filibuster::init {
namespace {

// This machine, as Docker's containers find it.
constexpr std::string_view kOutsideOfContainer = "host.docker.internal";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_in_host(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
}

template <typename T>
bool has(const std::vector<T>& all, std::string_view one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}
bool has_port(const std::vector<uint16_t>& all, uint16_t port) {
  return std::find(all.begin(), all.end(), port) != all.end();
}

std::optional<uint16_t> whole_port(std::string_view text) {
  uint16_t port = 0;
  const auto [rest, failed] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (failed != std::errc() || rest != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

// Words that say nothing of which service is meant. What is glued to a name ("userservice") is cut.
std::vector<std::string> telling_words(const std::vector<std::string>& words) {
  constexpr std::string_view kEverywhere[] = {
      "service", "services", "svc",     "srv",      "api",  "app",  "server",  "base",   "http",
      "https",   "grpc",     "rest",    "internal", "ms",   "test", "public",  "tests",  "e2e",
      "default", "vite",     "next",    "react",    "nuxt", "root", "backend", "remote", "local",
      "spring",  "data",     "primary", "master",   "my",   "rpc",  "client",  "target"};
  constexpr std::string_view kGlued[] = {"service", "svc", "api", "server"};
  std::vector<std::string> out;
  for (std::string word : words) {
    if (std::find(std::begin(kEverywhere), std::end(kEverywhere), word) != std::end(kEverywhere))
      continue;
    for (const std::string_view end : kGlued) {
      if (word.size() > end.size() + 1 && word.ends_with(end))
        word.resize(word.size() - end.size());
    }
    out.push_back(std::move(word));
  }
  return out;
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += word;
  while (out.ends_with('s')) out.pop_back();  // users, user
  return out;
}

// The default port of the kind of server that a word names; 0: it names none.
uint16_t port_of_kind(std::string_view word) {
  struct Short {
    std::string_view word, server;
  };
  constexpr Short kShort[] = {{"pg", "postgres"},        {"psql", "postgres"},
                              {"pgsql", "postgres"},     {"rabbit", "rabbitmq"},
                              {"amqp", "rabbitmq"},      {"cache", "redis"},
                              {"memcache", "memcached"}, {"elastic", "elasticsearch"},
                              {"es", "elasticsearch"},   {"maria", "mariadb"}};
  for (const Short& row : kShort) {
    if (row.word == word) word = row.server;
  }
  const Server* const server = known_server(word);
  return server == nullptr ? 0 : server->port;
}

bool is_database(uint16_t port) {
  constexpr uint16_t kPorts[] = {5432, 3306, 1433, 27017, 26257};
  return std::find(std::begin(kPorts), std::end(kPorts), port) != std::end(kPorts);
}

template <typename Wanted>
const Peer* only_one(const std::vector<Peer>& peers, Wanted wanted) {
  const auto first = std::find_if(peers.begin(), peers.end(), wanted);
  if (first == peers.end() || std::find_if(first + 1, peers.end(), wanted) != peers.end())
    return nullptr;
  return &*first;
}

const Peer* peer_of_kind(const VariableName& name, const std::vector<Peer>& peers) {
  for (const std::string& word : name.telling) {
    const bool any = word == "db" || word == "database" || word == "sql" || word == "datasource";
    const uint16_t port = any ? 0 : port_of_kind(word);
    if (!any && port == 0) continue;
    const Peer* const found = only_one(peers, [&](const Peer& peer) {
      if (peer.server == nullptr) return false;
      return any ? is_database(peer.server->port) : peer.server->port == port;
    });
    if (found != nullptr) return found;
  }
  return nullptr;
}

// What a service listens at itself: METRICS_PORT is not the port of Prometheus.
bool is_about_oneself(const VariableName& name) {
  constexpr std::string_view kOwn[] = {"admin", "metrics", "management", "debug", "health"};
  return std::all_of(name.telling.begin(), name.telling.end(), [&](const std::string& word) {
    return std::find(std::begin(kOwn), std::end(kOwn), word) != std::end(kOwn);
  });
}

std::string port_text(const Peer& peer) {
  return "${port:" + peer.name + "}";
}

class Linker {
 public:
  Linker(From from, const std::vector<Peer>& peers, std::string_view self, const Peer* named)
      : from_(from), peers_(peers), self_(self), named_(named) {}

  // Each address that leads to a service, in its place.
  std::optional<Link> addresses(const std::string& text) const {
    Link out{nullptr, text};
    std::vector<AddressIn> all = addresses_in(text);
    std::reverse(all.begin(), all.end());
    for (const AddressIn& one : all) {
      const std::string host = text.substr(one.host, one.port - 1 - one.host);
      const Peer* const peer = at(host, one.number);
      if (peer == nullptr) continue;
      out.value.replace(one.port, one.end - one.port, port_text(*peer));
      if (!is_loopback(host) || host == kOutsideOfContainer)
        out.value.replace(one.host, host.size(), "127.0.0.1");
      out.peer = peer;
    }
    return out.peer == nullptr ? std::nullopt : std::optional(out);
  }

  // The service at an address; nullptr: none of these.
  const Peer* at(const std::string& host, uint16_t number) const {
    for (const Peer& peer : peers_) {
      if (has(peer.hosts, host)) return has_port(peer.others, number) ? nullptr : other(&peer);
    }
    const Peer* const named = other(named_);
    if (!is_loopback(host)) {
      const bool one_label = host.find('.') == host.npos;
      return from_ == From::kSource && one_label ? named : nullptr;
    }
    if (named != nullptr && (from_ == From::kSource || has_port(named->ports, number)))
      return named;
    const bool own = std::any_of(peers_.begin(), peers_.end(), [&](const Peer& one) {
      return one.name == self_ && has_port(one.ports, number);
    });
    if (own) return nullptr;
    const auto there = [&](const Peer& one) { return has_port(one.ports, number); };
    if (const Peer* const only = only_one(peers_, there)) return only;
    const bool nobody = std::none_of(peers_.begin(), peers_.end(), there);
    return nobody && named != nullptr && named->free ? named : nullptr;
  }

  // 6379 for a name that ends with PORT.
  const Peer* bare_port(const VariableName& name, uint16_t number) const {
    if (named_ != nullptr) {
      const bool good = from_ == From::kSource || named_->free || has_port(named_->ports, number);
      return good ? other(named_) : nullptr;
    }
    // A number alone may be any program's, but for that of a database.
    if (is_about_oneself(name)) return nullptr;
    return only_one(peers_, [&](const Peer& one) {
      return one.server != nullptr && has_port(one.ports, number);
    });
  }

  // "redis"; "http://users/api", where the main port is meant.
  std::optional<Link> without_port(const std::string& text) const {
    size_t begin = text.find("://");
    begin = begin == text.npos ? 0 : begin + 3;
    if (const size_t user = text.find('@', begin); begin > 0 && user != text.npos) begin = user + 1;
    size_t end = begin;
    while (end < text.size() && is_in_host(text[end])) ++end;
    if (end == begin || (end < text.size() && (begin == 0 || text[end] == ':')))
      return std::nullopt;
    const std::string host = text.substr(begin, end - begin);
    for (const Peer& peer : peers_) {
      if (peer.name == self_ || !has(peer.hosts, host)) continue;
      if (begin == 0) return Link{&peer, "127.0.0.1", true};
      return Link{&peer, text.substr(0, begin) + "127.0.0.1:" + port_text(peer) + text.substr(end)};
    }
    return std::nullopt;
  }

  const Peer* other(const Peer* peer) const {
    return peer != nullptr && peer->name == self_ ? nullptr : peer;
  }

 private:
  From from_;
  const std::vector<Peer>& peers_;
  std::string_view self_;
  const Peer* named_;
};

// What a URL of a service of ours begins with; "": it needs what is not known, as the user of a
// database.
std::string_view scheme_of(const Peer& peer) {
  if (peer.server == nullptr) return "http://";
  if (peer.server->redis) return "redis://";
  struct Row {
    uint16_t port;
    std::string_view scheme;
  };
  constexpr Row kRows[] = {{5432, ""},
                           {3306, ""},
                           {1433, ""},
                           {26257, ""},
                           {9042, ""},
                           {9092, ""},
                           {27017, "mongodb://"},
                           {4222, "nats://"},
                           {5672, "amqp://"},
                           {11211, ""},
                           {2181, ""},
                           {61616, "tcp://"}};
  for (const Row& row : kRows) {
    if (row.port == peer.server->port) return row.scheme;
  }
  return "http://";
}

std::optional<Link> link_by_name(const VariableName& name, const Peer& peer) {
  switch (name.part) {
    case Part::kPort:
      return Link{&peer, port_text(peer)};
    case Part::kHost:
      return Link{&peer, "127.0.0.1", true};
    case Part::kAddress:
      return Link{&peer, "127.0.0.1:" + port_text(peer)};
    case Part::kUrl:
      break;
    case Part::kOther:
      return std::nullopt;
  }
  // A certificate is that of a name.
  if (peer.tls) return Link{&peer, "https://localhost:" + port_text(peer)};
  const std::string scheme(scheme_of(peer));
  if (scheme.empty()) return std::nullopt;
  return Link{&peer, scheme + "127.0.0.1:" + port_text(peer)};
}

}  // namespace

std::vector<std::string> small_words(std::string_view name) {
  std::vector<std::string> out(1);
  bool after_small = false;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool begins = after_small && std::isupper(byte) != 0;
    if ((begins || std::isalnum(byte) == 0) && !out.back().empty()) out.emplace_back();
    if (std::isalnum(byte) != 0) out.back() += static_cast<char>(std::tolower(byte));
    after_small = std::islower(byte) != 0;
  }
  if (out.back().empty()) out.pop_back();
  return out;
}

VariableName read_variable_name(std::string_view name) {
  struct End {
    std::string_view word;
    Part part;
  };
  constexpr End kEnds[] = {
      {"port", Part::kPort},         {"host", Part::kHost},       {"hostname", Part::kHost},
      {"ip", Part::kHost},           {"addr", Part::kAddress},    {"address", Part::kAddress},
      {"addresses", Part::kAddress}, {"hosts", Part::kAddress},   {"hostport", Part::kAddress},
      {"servers", Part::kAddress},   {"brokers", Part::kAddress}, {"url", Part::kUrl},
      {"uri", Part::kUrl},           {"urls", Part::kUrl},        {"endpoint", Part::kUrl},
      {"baseurl", Part::kUrl},       {"origin", Part::kUrl},      {"dsn", Part::kUrl}};
  VariableName out;
  out.words = small_words(name);
  if (out.words.empty()) return out;
  for (const End& end : kEnds) {
    std::string& last = out.words.back();
    const bool glued = (end.word == "port" || end.word == "host" || end.word == "url") &&
                       last.size() > end.word.size() + 1 && last.ends_with(end.word);  // DBHOST
    if (last != end.word && !glued) continue;
    out.part = end.part;
    last.resize(last.size() - end.word.size());
    if (last.empty()) out.words.pop_back();
    break;
  }
  out.telling = telling_words(out.words);
  return out;
}

const Peer* peer_about(const VariableName& name, const std::vector<Peer>& peers) {
  if (name.words.empty()) return nullptr;
  const std::string whole = joined(name.words), telling = joined(name.telling);
  const auto named_whole = [&](const Peer& one) { return joined(small_words(one.name)) == whole; };
  if (const Peer* const found = only_one(peers, named_whole)) return found;
  if (telling.empty()) return nullptr;
  const auto named = [&](const Peer& one) {
    return joined(telling_words(small_words(one.name))) == telling;
  };
  if (const Peer* const found = only_one(peers, named)) return found;
  return peer_of_kind(name, peers);
}

std::vector<AddressIn> addresses_in(std::string_view text) {
  std::vector<AddressIn> out;
  for (size_t colon = text.find(':'); colon != text.npos; colon = text.find(':', colon + 1)) {
    AddressIn one{colon, colon + 1, colon + 1, 0};
    while (one.host > 0 && is_in_host(text[one.host - 1])) --one.host;
    if (one.host == colon && text.substr(0, colon).ends_with("[::1]")) one.host = colon - 5;
    while (one.end < text.size() && is_digit(text[one.end])) ++one.end;
    const auto number = whole_port(text.substr(one.port, one.end - one.port));
    const bool goes_on =
        one.end < text.size() && (is_in_host(text[one.end]) || text[one.end] == '@');
    const std::string_view host = text.substr(one.host, colon - one.host);
    if (!number || goes_on || host.empty() || std::all_of(host.begin(), host.end(), is_digit))
      continue;
    one.number = *number;
    out.push_back(one);
  }
  return out;
}

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "127.0.0.1" || host == "[::1]" ||
         host == kOutsideOfContainer;
}

std::vector<Assignment> assignments_of(const std::string& command) {
  std::vector<Assignment> out;
  for (size_t at = 0; at < command.size();) {
    const size_t end = std::min(command.find(' ', at), command.size());
    const std::string word = command.substr(at, end - at);
    const size_t equals = word.find('=');
    if (equals != std::string::npos && equals > 0) {
      out.push_back({word.substr(0, equals), at + equals + 1, end});
    } else if (word != "exec" && word != "env") {
      break;
    }
    at = end + 1;
  }
  return out;
}

std::optional<Link> link_to(std::string_view variable, const std::optional<std::string>& value,
                            From from, const std::vector<Peer>& peers, std::string_view self,
                            const Peer* general) {
  const VariableName name = read_variable_name(variable);
  const Peer* named = peer_about(name, peers);
  if (named == nullptr && name.telling.empty()) named = general;
  const Linker linker(from, peers, self, named);
  if (value) {
    if (auto link = linker.addresses(*value)) return link;
    if (auto link = linker.without_port(*value)) return link;
    if (const auto port = whole_port(*value); port && name.part == Part::kPort) {
      const Peer* const peer = linker.bare_port(name, *port);
      return peer == nullptr ? std::nullopt : std::optional(Link{peer, port_text(*peer)});
    }
  }
  const Peer* const peer = linker.other(named);
  return from == From::kFiles || peer == nullptr ? std::nullopt : link_by_name(name, *peer);
}

std::string linked_command(const std::string& text, const std::vector<Peer>& peers,
                           std::string_view self) {
  std::string out = text;
  std::vector<AddressIn> all = addresses_in(text);
  std::reverse(all.begin(), all.end());
  const Linker linker(From::kFiles, peers, self, nullptr);
  for (const AddressIn& one : all) {
    const std::string host = text.substr(one.host, one.port - 1 - one.host);
    const Peer* const peer = linker.at(host, one.number);
    const bool asked = one.host >= 3 && text.compare(one.host - 3, 3, "://") == 0;
    if (peer == nullptr || (!asked && peer->server == nullptr)) continue;
    out.replace(one.port, one.end - one.port, port_text(*peer));
  }
  return out;
}

}  // namespace filibuster::init
