// Services with `restart: each` that are started ahead: while one process serves an execution, that of the
// next one is started, and waits where it would bind its port (core/protocol/snapshot.h). It has the state
// of a start, at the cost of a hand-over.
#include <nlohmann/json.hpp>

#include "daemon/lane/services.h"
#include "daemon/process/ports.h"

namespace filibuster {

// "": it can be started ahead.
std::string Services::why_not_ahead(const Running& service) const {
  if (config_.snapshots == Snapshots::kNever) return "snapshots are switched off";
  if (coverage_ != nullptr) return "coverage is measured";
  if (service.config->third_party || service.config->ignored) return "it is not interposed";
  const uint16_t port = ready_port(*service.config);
  const auto holder = port == 0 ? std::nullopt : port_holder(port);
  // The process that waits is the one that was started. If another one binds the port, both would serve.
  if (!holder || holder->pid != service.process->pid())
    return "its port is bound by another process than the one that was started";
  return "";
}

void Services::start_ahead(Running* service) {
  if (service->is_plain) return;
  std::string why = why_not_ahead(*service);
  auto options = why.empty() ? spawn_options(*service) : Result<SpawnOptions>(Error{why});
  if (options) {
    Snapshot::Options ahead{.spawn = std::move(options).value(),
                            .folder = hub_folder(lane_),
                            .name = "s" + std::to_string(++started_ahead_),
                            .service = service->config->name,
                            .may_fork = false};
    ahead.spawn.log_path += ".next";
    ahead.spawn.append = false;
    auto started = Snapshot::start(std::move(ahead), owned_);
    if (started) {
      service->next = std::move(started).value();
      return;
    }
    why = started.error().message;
  }
  service->is_plain = true;
  tell(*service, "starting", "its next process is not started ahead: " + why);
}

std::optional<Process> Services::take_ahead(Running* service) {
  if (!service->next) return std::nullopt;
  const std::unique_ptr<Snapshot> next = std::move(service->next);
  const auto state = next->wait_ready(service->config->ready.timeout, lane_.wake_fd);
  if (state == Snapshot::State::kReady && !next->is_exclusive()) {
    auto process = next->let_go(lane_.log_path(service->config->name), /*append=*/true);
    if (process) return std::move(process).value();
  }
  if (state == Snapshot::State::kStopped) return std::nullopt;
  service->is_plain = true;
  tell(*service, "starting",
       "its next process is not started ahead: " +
           (state == Snapshot::State::kReady ? next->obstacle()
                                             : "one that was ended before it bound its port"));
  return std::nullopt;
}

}  // namespace filibuster
