#include "cli/init/own_ports.h"

#include <algorithm>

#include "cli/init/container.h"
#include "cli/init/peers.h"

namespace filibuster::init {
namespace {

// The variable by which a service is told at which port to listen, where its sources read one.
const VariableRead* own_port_of(const std::map<std::string, VariableRead>& reads,
                                const DraftService& service) {
  const VariableRead* out = nullptr;
  int best = 0;
  for (const auto& [name, read] : reads) {
    const int rank = own_port_rank(name, service.name);
    if (rank <= best) continue;
    best = rank;
    out = &read;
  }
  return out;
}

bool is_told_its_port(const DraftService& service,
                      const std::map<std::string, VariableRead>& reads) {
  const std::string own = port_variable_of(service.name);
  for (const std::string& said : {own, std::string("$PORT"), std::string("${PORT")}) {
    if (service.command.find(said) != std::string::npos) return true;
  }
  return std::any_of(service.env.begin(), service.env.end(), [&](const auto& entry) {
    return entry.second.find(own) != std::string::npos && reads.contains(entry.first);
  });
}

void learn_own_port(const Reader& reader, DraftService* service) {
  const auto reads = by_name(reader.reads);
  const VariableRead* const own = own_port_of(reads, *service);
  if (own == nullptr) return;
  const auto given = reader.dot_env.find(own->name);
  const std::string text =
      given != reader.dot_env.end() ? given->second : own->otherwise.value_or("");
  const auto usual = port_of(text);
  if (usual && !has_number(service->known_at, *usual)) service->known_at.push_back(*usual);
  const auto assigned = assignments_of(service->command);
  const bool is_set = service->env.contains(own->name) ||
                      std::any_of(assigned.begin(), assigned.end(),
                                  [&](const Assignment& one) { return one.name == own->name; });
  if (is_set || service->redis || service->command.empty() || is_told_its_port(*service, reads))
    return;
  // What its command reads as its port shows that it listens.
  const bool in_command = own->line == 0;
  const bool fits = in_command || service->any_port ||
                    (!service->ports.empty() && (!usual || service->ports.front() == *usual));
  if (!fits || (service->worker && !in_command)) return;
  service->worker = false;
  service->env[own->name] = port_variable_of(service->name);
  service->any_port = true;
}

// "http://users:5000" as the default of another one: users listens at 5000.
void learn_port_of_others(const Reader& reader, Draft* draft) {
  for (const VariableRead& read : reader.reads) {
    if (!read.otherwise) continue;
    for (const AddressIn& one : addresses_in(*read.otherwise)) {
      const std::string host = read.otherwise->substr(one.host, one.port - 1 - one.host);
      for (DraftService& service : draft->services) {
        const bool named =
            service.name == host ||
            std::find(service.hosts.begin(), service.hosts.end(), host) != service.hosts.end();
        const bool silent = service.ports.empty() && !service.any_port && service.worker;
        if (!named || !silent || service.name == reader.service) continue;
        service.ports.push_back(one.number);
        service.worker = false;
      }
    }
  }
}

}  // namespace

std::string port_variable_of(const std::string& service) {
  return "${port:" + service + "}";
}

DraftService* service_of(const std::string& name, Draft* draft) {
  const auto found = std::find_if(draft->services.begin(), draft->services.end(),
                                  [&](const DraftService& one) { return one.name == name; });
  return found == draft->services.end() ? nullptr : &*found;
}

bool has_number(const std::vector<uint16_t>& ports, uint16_t port) {
  return std::find(ports.begin(), ports.end(), port) != ports.end();
}

std::map<std::string, VariableRead> by_name(const std::vector<VariableRead>& reads) {
  std::map<std::string, VariableRead> out;
  for (const VariableRead& read : reads) {
    const auto [known, added] = out.emplace(read.name, read);
    if (added) continue;
    if (!known->second.otherwise) known->second.otherwise = read.otherwise;
    known->second.needed = known->second.needed || read.needed;
    known->second.shared = known->second.shared && read.shared;
  }
  return out;
}

int own_port_rank(const std::string& variable, const std::string& service) {
  const VariableName name = read_variable_name(variable);
  if (name.part != Part::kPort) return 0;
  if (variable == "PORT") return 4;
  std::vector<Peer> self(1);
  self[0].name = service;
  if (!name.telling.empty()) return peer_about(name, self) != nullptr ? 3 : 0;
  return variable.find("GRPC") == std::string::npos ? 2 : 1;
}

void learn_ports(const std::vector<Reader>& readers, Draft* draft) {
  for (const Reader& reader : readers) learn_port_of_others(reader, draft);
  for (const Reader& reader : readers) {
    DraftService* const service = service_of(reader.service, draft);
    if (service != nullptr && !service->left_alone) learn_own_port(reader, service);
  }
}

}  // namespace filibuster::init
