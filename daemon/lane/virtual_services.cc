#include "daemon/lane/virtual_services.h"

#include <algorithm>

#include "daemon/model/environment_error.h"
#include "daemon/process/ports.h"
#include "daemon/property/model_fake.h"
#include "daemon/property/program_model.h"
#include "daemon/property/ready_model.h"
#include "daemon/stubs/choose.h"

namespace filibuster {
namespace {

Result<std::unique_ptr<property::TestModel>> model_of(const ContractConfig& contract,
                                                      const std::string& service,
                                                      const SessionLane& lane) {
  if (contract.property.ready_model)
    return property::make_ready_model(*contract.property.ready_model);
  SpawnOptions spawn;
  auto argv = lane_command(lane, contract.property.model);
  if (!argv) return argv.error();
  auto environment = lane_environment(lane, service, contract.env, Interpose::kNo, {});
  if (!environment) return environment.error();
  spawn.argv = std::move(argv).value();
  spawn.environment = std::move(environment).value();
  spawn.directory = contract.directory;
  spawn.log_path = lane.log_path(service);
  auto program = property::ModelProgram::start(std::move(spawn));
  if (!program) return program.error();
  return property::make_program_model(std::move(program).value());
}

Result<std::unique_ptr<stubs::Fake>> make_fake(const ServiceConfig& service,
                                               const SessionLane& lane) {
  const ContractConfig& contract = *service.contract;
  auto model = model_of(contract, service.name, lane);
  if (!model) return model.error();
  auto fake = property::ModelFake::make(contract, std::move(model).value());
  if (!fake) return fake.error();
  return std::unique_ptr<stubs::Fake>(std::move(fake).value());
}

}  // namespace

std::vector<ConfigError> check_stubs(const Config& config,
                                     const std::shared_ptr<const DescriptorSet>& descriptors) {
  std::vector<ConfigError> out;
  for (const ServiceConfig& service : config.services) {
    for (const stubs::Stub& stub : service.stubs) {
      const stubs::StubBoard board({{"", {stub}}}, descriptors);
      for (const std::string& problem : board.problems())
        out.push_back({config.path, stub.line, stub.column, problem});
    }
  }
  return out;
}

Result<void> certify(const Config& config, SessionLane* lane) {
  std::vector<std::string> names;
  bool wanted = false;
  for (const ServiceConfig& service : config.services) {
    if (!service.is_virtual || !service.tls) continue;
    wanted = true;
    for (const HostConfig& host : service.hosts) names.push_back(host.name);
  }
  if (!wanted) return {};
  auto certificate = stubs::Certificate::make(names);
  if (!certificate) return certificate.error();
  const std::string folder =
      lane->root + "/tls" + (lane->number == 0 ? "" : "-" + std::to_string(lane->number));
  auto trust = Trust::make(certificate.value()->authority(), folder);
  if (!trust) return trust.error();
  lane->certificate = std::move(certificate).value();
  lane->trust = std::move(trust).value();
  return {};
}

Result<std::unique_ptr<VirtualServices>> VirtualServices::start(
    const Config& config, const SessionLane& lane, std::shared_ptr<const DescriptorSet> descriptors,
    stubs::Answerer* answerer) {
  std::map<std::string, std::vector<stubs::Stub>> of_services;
  std::vector<stubs::StubListener> listeners;
  for (const ServiceConfig& service : config.services) {
    if (!service.is_virtual) continue;
    of_services[service.name] = service.stubs;
    stubs::StubListener listener{service.name, service.protocol, {}};
    if (service.tls) listener.certificate = lane.certificate;
    for (const auto& [name, fixed] : service.ports) {
      const auto found = lane.ports.find(name);
      listener.ports.push_back(found == lane.ports.end() ? fixed : found->second);
    }
    listeners.push_back(std::move(listener));
  }
  if (listeners.empty()) return std::unique_ptr<VirtualServices>();
  std::unique_ptr<VirtualServices> out(
      new VirtualServices(std::move(of_services), std::move(descriptors)));
  if (!out->board_.problems().empty()) {
    std::string all;
    for (const std::string& problem : out->board_.problems())
      all += (all.empty() ? "" : "\n") + problem;
    return Error{all};
  }
  for (const ServiceConfig& service : config.services) {
    if (!service.contract) continue;
    auto fake = make_fake(service, lane);
    if (!fake) return Error{"service '" + service.name + "': " + fake.error().message};
    out->board_.add_fake(service.name, std::move(fake).value());
  }
  auto server =
      stubs::StubServer::start(answerer != nullptr ? answerer : &out->board_, std::move(listeners),
                               [](uint16_t port) { return port_is_taken(port, ""); });
  if (!server)
    return with_remedy(server.error().message,
                       "end what listens there, or give the service no fixed port");
  out->server_ = std::move(server).value();
  return out;
}

std::vector<std::string> VirtualServices::add_stubs(
    const std::map<std::string, std::vector<stubs::Stub>>& of_test) {
  auto all = of_services_;
  std::vector<std::string> problems;
  for (const auto& [service, added] : of_test) {
    std::vector<stubs::Stub>& stubs = all[service];
    stubs.insert(stubs.end(), added.begin(), added.end());
    if (const auto same = stubs::same_conditions(stubs))
      problems.push_back(stubs[same->first].name + " and " + stubs[same->second].name +
                         " answer the same calls");
  }
  for (std::string& problem : board_.replace(std::move(all)))
    problems.push_back(std::move(problem));
  return problems;
}

std::vector<std::string> VirtualServices::unanswered() const {
  std::vector<std::string> out;
  for (const stubs::CallNote& note : board_.calls()) {
    if (!note.problem.empty() && std::find(out.begin(), out.end(), note.problem) == out.end())
      out.push_back(note.problem);
  }
  return out;
}

}  // namespace filibuster
