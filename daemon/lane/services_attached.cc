// Services that are attached: those that run already, before the first execution, and those of
// `"interpose": "bpf"`, each time that they are started.
#include <signal.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "daemon/attach/stopped_start.h"
#include "daemon/lane/services.h"

namespace filibuster {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kAttachLimit{30'000}, kStartLimit{10'000};

std::string of_processes(const attach::FoundService& service) {
  std::string pids;
  for (const attach::FoundProcess& process : service.processes)
    pids += (pids.empty() ? "pid " : ", ") + std::to_string(process.pid);
  return service.program + ", " + pids;
}

}  // namespace

// All of them, or none: the caller stops all services after an error, and with them what is attached.
Result<void> Services::attach_all() {
  auto found = attach::find_services(config_, attach::Proc());
  if (!found) return found.error();
  if (found.value().empty()) return {};
  std::vector<TargetRow> rows;
  for (const attach::FoundService& service : found.value()) {
    for (TargetRow& row : attach::target_rows(service)) rows.push_back(std::move(row));
  }
  place_.add_targets(rows);
  // The proxies start side by side.
  std::vector<Running*> begun;
  for (attach::FoundService& service : found.value()) {
    const auto running = std::find_if(services_.begin(), services_.end(), [&](const Running& each) {
      return each.config->name == service.name;
    });
    std::vector<uint16_t> ports = service.ports();
    auto attachment = attach::Attachment::begin(
        {lane_, *place_.loader, *owned_, std::move(service), std::move(ports), lane_.watches});
    if (!attachment) {
      detach_all();
      return attachment.error();
    }
    running->attachment = std::move(attachment).value();
    begun.push_back(&*running);
  }
  for (Running* service : begun) {
    if (auto attached = service->attachment->wait(kAttachLimit, lane_.wake_fd); !attached) {
      detach_all();
      return attached;
    }
    tell(*service, "attached", of_processes(service->attachment->service()));
  }
  return {};
}

Result<Process> Services::start_attached(Running* service) {
  const ServiceConfig& config = *service->config;
  const auto failed = [&](const std::string& what) {
    return Error{"service '" + config.name + "' does not start: " + what};
  };
  auto options = spawn_options(*service);
  if (!options) return options.error();
  auto process = attach::start_stopped(options.value(), kStartLimit, lane_.wake_fd);
  if (!process) return start_error(*service, process.error().message);
  const auto end = [&] {
    process.value().kill_group(SIGKILL);
    process.value().wait(kStartLimit);
  };
  // If this daemon is killed now, a later one ends the program, which stands still.
  owned_->add(config.name, process.value());
  attach::FoundService found;
  found.name = config.name;
  const pid_t pid = process.value().pid();
  found.processes = attach::with_descendants(attach::Proc(), pid);
  found.program = attach::program_name(attach::Proc(), pid);
  std::set<uint16_t> ports;
  for (const auto& [name, number] : config.ports) {
    const auto port = lane_.ports.find(name);
    if (port != lane_.ports.end() && port->second != 0) ports.insert(port->second);
  }
  auto attachment = attach::Attachment::begin({lane_,
                                               *place_.loader,
                                               *owned_,
                                               std::move(found),
                                               {ports.begin(), ports.end()},
                                               lane_.watches});
  Result<void> attached = attachment ? attachment.value()->wait(kAttachLimit, lane_.wake_fd)
                                     : Result<void>(attachment.error());
  owned_->remove(pid);
  if (!attached) {
    end();
    return failed(attached.error().message);
  }
  service->attachment = std::move(attachment).value();
  attach::let_go(&process.value());
  return process;
}

bool Services::has_ended_attached(Running* service, milliseconds grace) {
  if (!service->config->runs_already() || !service->attachment ||
      !service->attachment->has_ended(grace))
    return false;
  service->ended = true;
  detach(service);
  tell(*service, "exited", "it was attached, and has ended");
  return true;
}

attach::OldConnections Services::old_connections() const {
  return place_.loader == nullptr ? attach::OldConnections() : place_.loader->old_connections();
}

std::string Services::service_at(const std::string& address) const {
  const size_t colon = address.rfind(':');
  if (!address.starts_with("127.") && !address.starts_with("[::1]")) return "";
  for (const ServiceConfig& service : config_.services) {
    for (const auto& [name, number] : service.ports) {
      const auto automatic = lane_.ports.find(name);
      const uint16_t port =
          number != 0 || automatic == lane_.ports.end() ? number : automatic->second;
      if (port != 0 && std::to_string(port) == address.substr(colon + 1)) return service.name;
    }
  }
  return "";
}

Result<void> Services::check_attached() {
  for (Running& service : services_) {
    if (!service.attachment || service.ended) continue;
    if (const std::string problem = service.attachment->problem(); !problem.empty())
      return Error{problem};
  }
  return {};
}

void Services::look_at_attached() {
  for (Running& service : services_) {
    if (service.attachment) service.attachment->ask_to_look();
  }
  for (Running& service : services_) {
    if (service.attachment && !service.attachment->has_looked())
      tell(service, "attached", "its proxy did not look in time: the last calls may be missing");
  }
}

std::vector<attach::FoundService> Services::attached() const {
  std::vector<attach::FoundService> out;
  for (const Running& service : services_) {
    if (service.attachment) out.push_back(service.attachment->service());
  }
  return out;
}

void Services::detach(Running* service) {
  if (!service->attachment) return;
  service->attachment->ask_to_end();
  service->attachment.reset();
}

// All are asked at once, so that it takes as long as the slowest.
void Services::detach_all() {
  for (Running& service : services_) {
    if (service.attachment) service.attachment->ask_to_end();
  }
  for (Running& service : services_) service.attachment.reset();
}

}  // namespace filibuster
