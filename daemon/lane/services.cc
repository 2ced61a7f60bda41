#include "daemon/lane/services.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/protocol/draws.h"
#include "daemon/base/fail_point.h"
#include "daemon/lane/readiness.h"
#include "daemon/model/environment_error.h"
#include "daemon/process/preflight.h"

namespace filibuster {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kStopGrace{3000};  // between SIGTERM and SIGKILL
constexpr milliseconds kCoverageGrace{
    20000};                             // the same with coverage: services write their counts first
constexpr milliseconds kFirstProbe{1};  // readiness is probed at growing intervals
constexpr milliseconds kLastProbe{50};
constexpr milliseconds kPatience{
    5000};  // until it is said where a service listens that is not ready
constexpr milliseconds kSuspectGrace{
    100};  // for a core dump or a slow exit after a connection broke
constexpr int kLogLines = 20;
constexpr const char kWayOut[] =
    "\"interpose\": \"bpf\" in its row reaches it from outside (docs/attach.md)";

// By the library in its own process.
bool is_interposed(const ServiceConfig& service) {
  return service.is_followed() && !service.is_attached();
}

// What to do about a service that did not become ready.
constexpr std::string_view kCorrectReady =
    "correct `ready` or `ports` of the service, which say what is waited for, or give it more time "
    "(`timeout` in `ready`)";

// What to do about a service that ended instead of becoming ready.
std::string_view remedy_of_end(const ExitStatus& status) {
  // POSIX, Shell Command Language, 2.8.2: 127 where a command is not found, 126 where it cannot be executed.
  constexpr int kNotFound = 127, kNotExecuted = 126;
  if (!status.signalled && status.code == 0)
    return "let its `command` stay in the foreground: it ended well, as a daemon does that leaves "
           "its work to a child";
  if (!status.signalled && status.code == kNotFound)
    return "a program of its `command` is not found: correct the `command`, or install the program";
  if (!status.signalled && status.code == kNotExecuted)
    return "a program of its `command` cannot be executed: look at its permissions, or correct the "
           "`command`";
  return "start it by hand with its `command` and `env`, and mend what its lines say";
}

}  // namespace

Services::Services(const Config& config, const SessionLane& lane, OwnedProcesses* owned,
                   EventSink sink, coverage::Collector* coverage, AttachPlace place,
                   std::shared_ptr<const DescriptorSet> descriptors)
    : config_(config),
      lane_(lane),
      owned_(owned),
      sink_(std::move(sink)),
      coverage_(coverage),
      place_(std::move(place)),
      descriptors_(std::move(descriptors)) {
  for (const ServiceConfig& service : config.services) {
    if (!service.is_by_hand() && !service.is_virtual) services_.push_back({&service, std::nullopt});
  }
}

Services::~Services() {
  stop_all();
}

void Services::tell(const Running& service, const std::string& state, const std::string& detail) {
  sink_({{"type", "service"},
         {"name", service.config->name},
         {"pid", service.process ? service.process->pid() : 0},
         {"state", state},
         {"detail", detail}});
}

std::vector<std::string> Services::preflight() const {
  std::vector<std::string> out;
  for (const Running& service : services_) {
    if (!is_interposed(*service.config)) continue;
    const auto argv = lane_command(lane_, service.config->command);
    if (!argv) continue;  // starting it will say so
    const char* path = getenv("PATH");
    for (const ProgramCheck& check :
         check_command(argv.value(), lane_directory(config_, service.config->directory),
                       path == nullptr ? "/usr/bin:/bin" : path)) {
      for (const std::string& obstacle : check.obstacles) {
        out.push_back(
            "service '" + service.config->name + "' cannot be interposed: " + check.program + " " +
            obstacle + (check.reached.empty() ? "" : " (reached by " + check.reached + ")") +
            "; its remote calls will not be seen and get no faults" +
            (config_.has_hosts() ? ", and it does not find services by the names of `hosts`. "
                                 : ". ") +
            kWayOut);
      }
    }
  }
  return out;
}

Error Services::start_error(const Running& service, const std::string& what,
                            std::string_view remedy) const {
  const std::string log = lane_.log_path(service.config->name);
  const std::string lines = last_lines(log, kLogLines);
  return with_remedy("service '" + service.config->name + "' " + what +
                         (lines.empty() ? "\n(its log " + log + " is empty)"
                                        : "\nlast lines of " + log + ":\n" + lines),
                     remedy);
}

uint16_t Services::ready_port(const ServiceConfig& service) const {
  std::string name = service.ready.port;
  if (name.empty() && service.ports.contains(service.name)) name = service.name;
  if (name.empty() && !service.ports.empty()) name = service.ports.begin()->first;
  const auto found = lane_.ports.find(name);
  return found == lane_.ports.end() ? uint16_t{0} : found->second;
}

Result<void> Services::wait_for_others() {
  for (const ServiceConfig& config : config_.services) {
    const ReadyCheck& ready = config.ready;
    if (!config.command.empty() || ready.kind == ReadyCheck::Kind::kNone) continue;
    const Running service{&config, std::nullopt, false};
    const uint16_t port = ready_port(config);
    const auto deadline = Clock::now() + ready.timeout;
    while (!is_ready(service, ready, port)) {
      if (Clock::now() >= deadline) {
        return with_remedy("service '" + config.name +
                               "', which somebody else starts, did not become ready within " +
                               std::to_string(ready.timeout.count()) + " ms (waited for port " +
                               std::to_string(port) + " " + ready.http_path + ")",
                           "start it before this command, at that port");
      }
      pollfd woken{lane_.wake_fd, POLLIN, 0};
      const bool can_wake = lane_.wake_fd >= 0;
      if (poll(&woken, can_wake ? 1 : 0, static_cast<int>(kLastProbe.count())) > 0)
        return Error{"stopped"};
    }
    tell(service, "ready", "");
  }
  return {};
}

Result<void> Services::start_all() {
  // The others may call them while they start.
  auto without_process = VirtualServices::start(config_, lane_, descriptors_, answerer_.get());
  if (!without_process) return without_process.error();
  virtual_ = std::move(without_process).value();
  if (auto others = wait_for_others(); !others) return others;
  if (auto attached = attach_all(); !attached) return attached;
  for (Running& service : services_) {
    if (service.config->runs_already()) continue;
    for (const auto& [name, fixed] : service.config->ports) {
      const auto found = lane_.ports.find(name);
      if (found == lane_.ports.end() || !port_is_taken(found->second, service.config->host))
        continue;
      for (const Running& other : services_) {
        const auto& ports = other.config->ports;
        const bool same = std::any_of(ports.begin(), ports.end(), [&](const auto& port) {
          const auto number = lane_.ports.find(port.first);
          return number != lane_.ports.end() && number->second == found->second;
        });
        if (&other == &service || !same) continue;
        return Error{
            "services '" + other.config->name + "' and '" + service.config->name +
            "' have the same port, " + std::to_string(found->second) +
            ": give them different ports, or a \"host\" each if they listen at different addresses"};
      }
      const auto holder = port_holder(found->second);
      std::string who;
      if (holder && holder->pid != 0) {
        who = " by pid " + std::to_string(holder->pid) + " (" + holder->program + ")";
      }
      return with_remedy("service '" + service.config->name + "': port " +
                             std::to_string(found->second) + " is already in use" + who,
                         "end that process, or use ${port:" + name + "} instead of a fixed port");
    }
    if (auto started = start(&service); !started) return started;
  }
  return {};
}

Result<SpawnOptions> Services::spawn_options(const Running& service) {
  const ServiceConfig& config = *service.config;
  const auto argv = lane_command(lane_, config.command);
  if (!argv) return Error{"service '" + config.name + "': " + argv.error().message};
  const std::string directory = lane_directory(config_, config.directory);
  PreloadNeeds needs;
  if (is_interposed(config)) {
    const char* path = getenv("PATH");
    needs = preload_needs(
        check_command(argv.value(), directory, path == nullptr ? "/usr/bin:/bin" : path));
  }
  auto environment =
      lane_environment(lane_, config.name, config.env,
                       is_interposed(config) ? Interpose::kYes : Interpose::kNo, needs);
  if (!environment) return environment.error();
  SpawnOptions options;
  options.argv = argv.value();
  options.environment = std::move(environment).value();
  // The random numbers of a recording are those of the service that it is of.
  if (!config.part_of.empty() && lane_.follows_draws)
    set_variable(&options.environment, kDrawsVariable, kOwnDraws);
  options.directory = directory;
  options.log_path = lane_.log_path(config.name);
  options.append = service.ended;  // a restart keeps what the crash wrote
  if (coverage_ != nullptr) {
    coverage_->prepare(config.name, &options.environment);
    options.rest_grace = kCoverageGrace;
  }
  return options;
}

Result<Process> Services::start_process(Running* service) {
  if (service->config->by_bpf) return start_attached(service);
  if (auto ahead = take_ahead(service)) return std::move(*ahead);
  auto options = spawn_options(*service);
  if (!options) return options.error();
  auto process = Process::spawn(options.value());
  if (process) return process;
  return with_remedy(
      "service '" + service->config->name + "' does not start: " + process.error().message,
      "correct its `command` or its `directory` in the configuration");
}

Result<void> Services::start(Running* service) {
  const ServiceConfig& config = *service->config;
  if (service->process) end_its_orphans(*service);
  auto process = start_process(service);
  if (!process) return process.error();
  service->process.emplace(std::move(process).value());
  service->ended = false;
  owned_->add(config.name, *service->process);
  fail_point("starting");
  tell(*service, "starting", "");
  if (auto ready = wait_ready(service); !ready) return ready;
  tell(*service, "ready", "");
  return {};
}

bool Services::is_ready(const Running& service, const ReadyCheck& ready, uint16_t port) const {
  switch (ready.kind) {
    case ReadyCheck::Kind::kNone:
      return true;
    case ReadyCheck::Kind::kLog:
      return file_contains(lane_.log_path(service.config->name), ready.log_pattern);
    case ReadyCheck::Kind::kHttp:
      if (service.attachment && !listens_at(service.process->pid(), port)) return false;
      return answers_http(service.config->host, port,
                          ready.http_path.empty() ? "/" : ready.http_path);
    case ReadyCheck::Kind::kTcp: {
      if (service.attachment) return listens_at(service.process->pid(), port);
      return accepts(service.config->host, port);
    }
  }
  return false;
}

Result<void> Services::wait_ready(Running* service) {
  const uint16_t port = ready_port(*service->config);
  ReadyCheck ready = service->config->ready;
  for (std::string* text : {&ready.http_path, &ready.log_pattern}) {
    auto substituted = substitute(lane_, *text);
    if (!substituted)
      return start_error(*service, "cannot be waited for: " + substituted.error().message,
                         kCorrectReady);
    *text = std::move(substituted).value();
  }
  const bool by_port =
      ready.kind == ReadyCheck::Kind::kTcp || ready.kind == ReadyCheck::Kind::kHttp;
  if (by_port && port == 0) {
    return start_error(*service, "has no port to wait for",
                       "give it `ports` or another `ready` in the configuration");
  }
  // "; it listens at port 5001": a port that is not the one that is waited for is the most usual mistake.
  const auto elsewhere = [&]() -> std::string {
    const std::string ports = by_port ? where_it_listens(service->process->pid()) : "";
    return ports.empty() || listens_at(service->process->pid(), port) ? ""
                                                                      : "; it listens at " + ports;
  };
  const auto began = Clock::now();
  const auto deadline = began + ready.timeout;
  bool told = false;
  milliseconds interval = kFirstProbe;
  while (true) {
    if (is_ready(*service, ready, port)) {
      // Another program may hold the port and answer the probe, so the service itself must still run.
      if (ready.kind == ReadyCheck::Kind::kNone || !service->process->poll_exit()) return {};
    }
    if (const auto status = service->process->wait(interval, lane_.wake_fd)) {
      service->ended = true;
      owned_->remove(service->process->pid());
      return start_error(*service, "ended before it was ready (" + to_text(*status) + ")",
                         remedy_of_end(*status));
    }
    pollfd woken{lane_.wake_fd, POLLIN, 0};
    if (lane_.wake_fd >= 0 && poll(&woken, 1, 0) > 0) return Error{"stopped"};
    if (!told && Clock::now() >= began + kPatience) {
      told = true;
      if (const std::string ports = elsewhere(); !ports.empty()) {
        sink_({{"type", "warning"},
               {"text", "service '" + service->config->name + "' is waited for at port " +
                            std::to_string(port) + ports +
                            ". `ports` and `ready` say at which it is to be"}});
      }
    }
    if (Clock::now() >= deadline) {
      const std::string waited =
          ready.kind == ReadyCheck::Kind::kLog
              ? "'" + ready.log_pattern + "' in its output"
              : "port " + std::to_string(port) +
                    (ready.kind == ReadyCheck::Kind::kHttp ? " " + ready.http_path : "");
      return start_error(*service,
                         "did not become ready within " + std::to_string(ready.timeout.count()) +
                             " ms (waited for " + waited + elsewhere() + ")",
                         kCorrectReady);
    }
    interval = std::min(interval * 5 / 4 + milliseconds(1), kLastProbe);
  }
}

std::vector<ServiceEnd> Services::take_ended(const std::vector<std::string>& suspects) {
  const auto deadline = Clock::now() + kSuspectGrace;
  std::vector<ServiceEnd> out;
  for (Running& service : services_) {
    if (service.ended) continue;
    const bool suspected =
        std::find(suspects.begin(), suspects.end(), service.config->name) != suspects.end();
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    const milliseconds grace = suspected ? std::max(left, milliseconds(0)) : milliseconds(0);
    if (has_ended_attached(&service, grace))
      out.push_back({service.config->name, {}, "", /*by_hand=*/true, /*attached=*/true});
    if (!service.process) continue;
    auto status = service.process->poll_exit();
    if (!status && suspected) status = service.process->wait(grace);
    if (!status) continue;
    service.ended = true;
    detach(&service);
    owned_->remove(service.process->pid());
    tell(service, "exited", to_text(*status));
    if (coverage_ != nullptr && status->signalled) {
      coverage_->note_lost(service.config->name, to_text(*status));
    } else if (coverage_ != nullptr) {
      coverage_->note_exited(service.config->name, "ended with " + to_text(*status));
    }
    out.push_back({service.config->name, *status,
                   last_lines(lane_.log_path(service.config->name), kLogLines)});
  }
  return out;
}

Result<std::vector<ServiceEnd>> Services::prepare_execution() {
  std::vector<ServiceEnd> between = take_ended({});
  if (virtual_) virtual_->begin();
  if (auto attached = check_attached(); !attached) return attached.error();
  for (Running& service : services_) {
    const auto policy = service.config->restart;
    if (policy == ServiceConfig::Restart::kEach && service.process && !service.ended) {
      stop(&service, stop_grace());
      service.ended = true;
    }
    if (!service.ended) continue;
    if (service.config->runs_already())
      return Error{"service '" + service.config->name + "' (attached by " +
                   to_text(service.config->attach) +
                   ") has ended: start it again; the same command then goes on where this one "
                   "stopped"};
    if (policy == ServiceConfig::Restart::kNever) {
      return start_error(service, "ended, and its configuration says restart: never",
                         "mend what its lines say, or let `restart` be \"crash\"");
    }
    if (auto started = start(&service); !started) return started.error();
    if (policy == ServiceConfig::Restart::kEach) start_ahead(&service);
  }
  return between;
}

Result<bool> Services::begin_coverage(coverage::Phase phase) {
  if (coverage_ == nullptr || coverage_->phase() == phase) return false;
  for (Running& service : services_) {
    if (service.process && !service.ended) service.process->ask_to_end();
  }
  for (auto service = services_.rbegin(); service != services_.rend(); ++service) {
    if (service->config->runs_already()) continue;
    if (service->process && !service->ended) stop(&*service, stop_grace());
    service->ended = true;
  }
  if (auto begun = coverage_->begin(phase); !begun) return begun.error();
  for (Running& service : services_) {
    if (service.config->runs_already()) continue;
    if (auto started = start(&service); !started) return started.error();
  }
  return true;
}

milliseconds Services::stop_grace() const {
  return coverage_ != nullptr ? kCoverageGrace : kStopGrace;
}

void Services::stop(Running* service, milliseconds grace) {
  const ExitStatus status = service->process->stop(grace);
  if (coverage_ != nullptr && status.signalled && status.code == SIGKILL) {
    coverage_->note_lost(service->config->name, "did not end in time and had to be killed");
  }
  owned_->remove(service->process->pid());
  detach(service);
}

// What it put into another session or group, and left there, may hold its ports. The process that is started ahead has
// the same mark, and what that starts is not to be ended.
void Services::end_its_orphans(const Running& service) {
  if (!service.next) end_orphans(lane_, service.config->name);
}

void Services::stop_all() {
  // All are asked at once, so that stopping takes as long as the slowest.
  for (Running& service : services_) {
    if (service.process && !service.ended) service.process->ask_to_end();
  }
  const auto kill_at = Clock::now() + stop_grace();
  for (auto service = services_.rbegin(); service != services_.rend(); ++service) {
    if (!service->process) continue;
    if (!service->ended) {
      const auto left = std::chrono::ceil<milliseconds>(kill_at - Clock::now());
      stop(&*service, std::max(left, milliseconds(0)));
      tell(*service, "exited", "stopped");
    }
    service->process.reset();
    service->ended = false;
    service->next.reset();
  }
  detach_all();
  virtual_.reset();
}

std::vector<std::string> Services::unanswered_by_stubs() const {
  return virtual_ ? virtual_->unanswered() : std::vector<std::string>();
}

}  // namespace filibuster
