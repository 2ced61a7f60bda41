#include "cli/stray_ports.h"

#include <algorithm>
#include <set>

#include "cli/init/peers.h"
#include "daemon/config/source_tree.h"

namespace filibuster::cli {
namespace {

using init::From;
using init::Part;
using init::Peer;

const SourceNode* member_of(const SourceNode& node, std::string_view key) {
  const auto found = std::find_if(node.children.begin(), node.children.end(),
                                  [&](const SourceNode& one) { return one.key == key; });
  return found == node.children.end() ? nullptr : &*found;
}

std::string text_in(const SourceNode* node) {
  if (node == nullptr) return "";
  std::string out = node->text;
  for (const SourceNode& word : node->children) out += (out.empty() ? "" : " ") + word.text;
  return out;
}

const init::Server* server_in(const ServiceConfig& service) {
  if (service.protocol == Protocol::kRedis) return init::known_server("redis");
  const init::ReadFile nothing = [](const std::string&) { return std::nullopt; };
  const std::string command = service.command.empty() ? "" : service.command.argv.back();
  if (const auto known = init::server_of(command, nothing)) return known->server;
  return init::known_server(service.name);
}

class Strays {
 public:
  Strays(const std::string& file, const std::string& text, const Config& config)
      : file_(file), text_(text) {
    for (const ServiceConfig& service : config.services) {
      Peer peer;
      peer.name = service.name;
      peer.server = server_in(service);
      const auto main = service.ports.find(service.name);
      peer.free = main != service.ports.end() && main->second == 0;
      if (peer.free && peer.server != nullptr) peer.ports.push_back(peer.server->port);
      for (const auto& [name, number] : service.ports) {
        if (number == 0) continue;
        fixed_.insert(number);
        (name == service.name ? peer.ports : peer.others).push_back(number);
      }
      if (!service.ports.empty()) peers_.push_back(std::move(peer));
    }
    // The one that a test's BASE_URL is about.
    for (const Peer& peer : peers_) {
      if (!peer.free || peer.server != nullptr) continue;
      ++own_;
      general_ = &peer;
    }
    if (own_ != 1) general_ = nullptr;
  }

  std::vector<std::string> run() {
    const SourceTree tree = parse_source(text_);
    for (const char* const list : {"services", "tests"}) {
      const SourceNode* const rows = member_of(tree.root, list);
      for (const SourceNode& row : rows == nullptr ? std::vector<SourceNode>() : rows->children) {
        const bool test = std::string_view(list) == "tests";
        const std::string self = test ? "" : text_in(member_of(row, "name"));
        if (const SourceNode* const env = member_of(row, "env")) {
          for (const SourceNode& value : env->children)
            check(value.key, value.text, value.offset, self, test ? general_ : nullptr);
        }
        const SourceNode* const command = member_of(row, "command");
        if (command == nullptr) continue;
        check_command(*command, self);
        for (const SourceNode& word : command->children) check_command(word, self);
      }
    }
    return std::move(out_);
  }

 private:
  // Some number in it is that of no service.
  bool is_nobodys(const std::string& variable, const std::string& value) const {
    for (const init::AddressIn& one : init::addresses_in(value)) {
      const std::string host = value.substr(one.host, one.port - 1 - one.host);
      if (init::is_loopback(host) && !fixed_.contains(one.number)) return true;
    }
    const bool number = !value.empty() && value.size() <= 5 &&
                        value.find_first_not_of("0123456789") == std::string::npos;
    return number && init::read_variable_name(variable).part == Part::kPort &&
           !fixed_.contains(std::stoi(value));
  }

  void check(const std::string& variable, const std::string& value, size_t offset,
             const std::string& self, const Peer* general) {
    if (!is_nobodys(variable, value)) return;
    const auto link = init::link_to(variable, value, From::kFiles, peers_, self, general);
    if (link && link->peer->free)
      warn(offset, variable + " is \"" + value + "\"", *link->peer, link->value);
  }

  void check_command(const SourceNode& node, const std::string& self) {
    const std::string& command = node.text;
    size_t program = 0;  // where what is assigned ends
    for (const init::Assignment& one : init::assignments_of(command)) {
      check(one.name, command.substr(one.value, one.end - one.value), place_in(node, one.value),
            self, nullptr);
      program = one.end;
    }
    for (const init::AddressIn& one : init::addresses_in(command)) {
      if (one.host < program || fixed_.contains(one.number)) continue;
      const std::string address = command.substr(one.host, one.end - one.host);
      const auto link = init::link_to("", address, From::kFiles, peers_, self);
      if (link && link->peer->free)
        warn(place_in(node, one.host), "the command asks " + address, *link->peer, link->value);
    }
  }

  // Where a part of a text stands in the file; its beginning, where escapes stand in between.
  size_t place_in(const SourceNode& node, size_t at) const {
    const std::string_view raw = std::string_view(text_).substr(node.offset + 1);
    return raw.starts_with(node.text) ? node.offset + 1 + at : node.offset;
  }

  void warn(size_t offset, const std::string& what, const Peer& peer, const std::string& instead) {
    const SourcePosition at = position_of(text_, offset);
    out_.push_back(file_ + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) +
                   ": warning: " + what + ", and no service has that port: '" + peer.name +
                   "' gets a free one; write \"" + instead + "\"");
  }

  const std::string& file_;
  const std::string& text_;
  std::vector<Peer> peers_;
  std::set<int> fixed_;
  const Peer* general_ = nullptr;
  size_t own_ = 0;
  std::vector<std::string> out_;
};

}  // namespace

std::vector<std::string> stray_ports(const std::string& file, const std::string& text,
                                     const Config& config) {
  return Strays(file, text, config).run();
}

}  // namespace filibuster::cli
