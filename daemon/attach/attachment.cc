#include "daemon/attach/attachment.h"

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <fstream>

#include "core/program/elf_image.h"
#include "core/program/mapped_file.h"
#include "daemon/base/fail_point.h"
#include "daemon/process/pidfd.h"

namespace filibuster::attach {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// A proxy that is asked to end carries what is open to its end, and ends what is idle after 5 s.
constexpr milliseconds kDetachGrace{25'000};
constexpr milliseconds kFirstProbe{2}, kLastProbe{50};
constexpr int kLogLines = 20;
// How the proxy's lines on stdout begin.
constexpr std::string_view kAttached = "attached", kLooked = "looked";
constexpr milliseconds kLookLimit{2000};

template <typename Numbers, typename Text>
std::string joined(const Numbers& numbers, Text text) {
  std::string out;
  for (const auto& number : numbers) out += (out.empty() ? "" : ",") + std::to_string(text(number));
  return out;
}

// The link of /proc leads to the program also where its file was replaced.
bool is_go(const std::vector<FoundProcess>& processes) {
  return std::any_of(processes.begin(), processes.end(), [](const FoundProcess& process) {
    const MappedFile file("/proc/" + std::to_string(process.pid) + "/exe");
    const std::optional<ElfImage> image = read_elf(file.bytes());
    return image && image->go;
  });
}

size_t count_lines(const std::string& path, std::string_view beginning) {
  std::ifstream file(path);
  std::string line;
  size_t count = 0;
  while (std::getline(file, line)) count += line.starts_with(beginning) ? 1 : 0;
  return count;
}

}  // namespace

Error Attachment::error(const std::string& what) const {
  const std::string lines = last_lines(log_path_, kLogLines);
  return Error{"service '" + options_.service.name + "' " + what +
               (lines.empty() ? "" : "\n" + lines)};
}

Result<std::unique_ptr<Attachment>> Attachment::begin(Options options) {
  std::unique_ptr<Attachment> out(new Attachment(std::move(options)));
  const Options& of = out->options_;
  const FoundService& service = of.service;
  out->log_path_ = of.lane.log_path(service.name + ".proxy");
  for (const FoundProcess& process : service.processes) {
    UniqueFd pidfd(pidfd_open(process.pid, 0));
    // The start time is compared after the pidfd is open: from then on it is this process's.
    if (!pidfd.valid() || process_start_time(process.pid) != process.start_time)
      return out->error("is not attached: pid " + std::to_string(process.pid) +
                        " ended before it could be");
    out->pidfds_.push_back(std::move(pidfd));
  }
  auto connection = of.loader.connect();
  if (!connection) return out->error("is not attached: " + connection.error().message);

  const std::string first = std::to_string(service.processes.front().pid);
  // The program's own time and random numbers are not reached from here, and the proxy's are nobody's.
  SessionLane lane = of.lane;
  lane.follows_draws = lane.is_replay = false;
  auto environment = lane_environment(lane, service.name, {}, Interpose::kYes, {});
  if (!environment) return environment.error();
  SpawnOptions spawn;
  spawn.environment = std::move(environment).value();
  set_variable(&spawn.environment, "FILIBUSTER_ATTACHED", first + " " + service.program);
  spawn.argv = {program_beside(of.lane.preload, "filibuster-proxy"), "--loader-fd", "3", "--pids",
                joined(service.processes, [](const FoundProcess& one) { return one.pid; })};
  if (!of.ports.empty()) {
    spawn.argv.emplace_back("--ports");
    spawn.argv.push_back(joined(of.ports, [](uint16_t port) { return port; }));
  }
  spawn.argv.insert(spawn.argv.end(), {"--program", service.program});
  if (is_go(service.processes)) spawn.argv.emplace_back("--go");
  if (of.watch) spawn.argv.emplace_back("--watch");
  spawn.log_path = out->log_path_;
  spawn.inherited = connection.value().get();
  auto proxy = Process::spawn(spawn);
  if (!proxy) return out->error("is not attached: its proxy: " + proxy.error().message);
  out->proxy_.emplace(std::move(proxy).value());
  of.owned.add(service.name + " (proxy)", *out->proxy_);
  fail_point("attaching");
  return out;
}

Attachment::~Attachment() {
  end();
}

Result<void> Attachment::wait(milliseconds limit, int wake_fd) {
  const auto deadline = Clock::now() + limit;
  milliseconds interval = kFirstProbe;
  while (count_lines(log_path_, kAttached) == 0) {
    if (const auto status = proxy_->wait(interval, wake_fd)) {
      options_.owned.remove(proxy_->pid());
      return error("is not attached (its proxy: " + to_text(*status) + "):");
    }
    pollfd woken{wake_fd, POLLIN, 0};
    if (wake_fd >= 0 && poll(&woken, 1, 0) > 0) return Error{"stopped"};
    if (Clock::now() >= deadline)
      return error("is not attached: its proxy did not answer within " +
                   std::to_string(limit.count()) + " ms");
    interval = std::min(interval * 3 / 2 + milliseconds(1), kLastProbe);
  }
  return {};
}

bool Attachment::has_ended(milliseconds grace) {
  const auto deadline = Clock::now() + grace;
  return std::all_of(pidfds_.begin(), pidfds_.end(), [&](const UniqueFd& pidfd) {
    pollfd ended{pidfd.get(), POLLIN, 0};
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    return poll(&ended, 1, static_cast<int>(std::max(left, milliseconds(0)).count())) > 0;
  });
}

std::string Attachment::problem() {
  const auto status = proxy_->poll_exit();
  if (!status) return "";
  const std::string loader = options_.loader.problem();
  return error("is attached no longer: its proxy has ended (" + to_text(*status) + ")" +
               (loader.empty() ? "" : "; " + loader))
      .message;
}

// Where nothing has come for a while, the proxy looks each 32 ms.
void Attachment::ask_to_look() {
  if (!proxy_ || !options_.watch || proxy_->poll_exit()) return;
  ++looks_;
  proxy_->kill_group(SIGUSR1);
}

bool Attachment::has_looked() {
  if (!proxy_ || !options_.watch) return true;
  const auto deadline = Clock::now() + kLookLimit;
  while (count_lines(log_path_, kLooked) < looks_) {
    if (proxy_->wait(kFirstProbe) || Clock::now() >= deadline) return false;
  }
  return true;
}

void Attachment::ask_to_end() {
  if (proxy_ && !proxy_->poll_exit()) proxy_->ask_to_end();
}

void Attachment::end() {
  if (!proxy_) return;
  proxy_->stop(kDetachGrace);
  options_.owned.remove(proxy_->pid());
  proxy_.reset();
}

}  // namespace filibuster::attach
