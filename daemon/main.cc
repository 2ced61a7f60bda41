// filibusterd: serves one ROOT. Ends at POST /v1/shutdown, SIGTERM or SIGINT, or with its client.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "core/version.h"
#include "daemon/api/server.h"
#include "daemon/base/own_files.h"
#include "daemon/base/standard_descriptors.h"
#include "daemon/process/orphans.h"
#include "daemon/process/pidfd.h"
#include "daemon/process/session_lane.h"

namespace filibuster {
namespace {

namespace fs = std::filesystem;

constexpr int kExitUsage = 2, kExitEnvironment = 3;

struct DaemonOptions {
  std::string root = ".filibuster";
  int ready_fd = -1;
  bool exit_with_client = false;
};

int complain(const std::string& message) {
  std::cerr << "filibusterd: " << message << "\n";
  return kExitEnvironment;
}

// The lock is held as long as the daemon lives, so that each ROOT has one daemon. -1: another has it.
int lock_root(const std::string& root) {
  const int fd = open((root + "/daemon.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

int serve(const DaemonOptions& options) {
  std::error_code failed;
  if (!fs::is_directory(options.root, failed)) {
    if (auto made = make_private_folder(options.root); !made) return complain(made.error().message);
  }
  const std::string root = fs::canonical(options.root, failed).string();
  if (failed) return complain("cannot use " + options.root + ": " + failed.message());
  const int lock = lock_root(root);
  if (lock < 0) return complain("another daemon serves " + root + " (see daemon.json there)");

  make_root_private(root);

  // The signals are blocked before the first thread starts, so that only the loop below sees them.
  // Children start with no signal blocked (process.cc).
  sigset_t ends;
  sigemptyset(&ends);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, number);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  sigset_t child_ends;
  sigemptyset(&child_ends);
  sigaddset(&child_ends, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child_ends, nullptr);
  const int children = signalfd(-1, &child_ends, SFD_CLOEXEC);
  become_parent_of_orphans();
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ,
         SIG_IGN);  // a write beyond the file size limit then fails, and the error is reported
  const int signals = signalfd(-1, &ends, SFD_CLOEXEC);
  const int shutdown = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  // Without it no process can be watched: each client would look as if it were gone.
  if (const int own = pidfd_open(getpid(), 0); own >= 0) {
    close(own);
  } else {
    return complain(std::string("pidfd_open is refused here: ") + std::strerror(errno) +
                    "; it needs Linux 5.3, and a sandbox has to allow it (for Docker: a newer "
                    "version, or --security-opt seccomp=unconfined)");
  }
  const pid_t parent = getppid();
  const int client = options.exit_with_client && parent > 1 ? pidfd_open(parent, 0) : -1;

  DaemonContext context;
  context.root = root;
  context.preload = preload_path();
  if (options.exit_with_client) {
    context.on_client_gone = [shutdown] { eventfd_write(shutdown, 1); };
  }
  auto server = ApiServer::start(std::move(context), [shutdown] { eventfd_write(shutdown, 1); });
  if (!server) return complain(server.error().message);
  const std::string address = root + "/daemon.json";
  const nlohmann::json json{{"version", 1},
                            {"pid", getpid()},
                            {"start_time", process_start_time(getpid())},
                            {"url", server.value()->url()},
                            {"token", server.value()->token()}};
  if (auto written = write_file(address, dump_json(json) + "\n"); !written) {
    return complain(written.error().message);
  }
  if (options.ready_fd >= 0) {
    const char ready = '\n';
    if (write(options.ready_fd, &ready, 1) != 1) {
      complain("cannot write to descriptor " + std::to_string(options.ready_fd) +
               " of --ready-fd: " + std::strerror(errno));
    }
    close(options.ready_fd);
  }
  pollfd watched[4] = {
      {children, POLLIN, 0}, {signals, POLLIN, 0}, {shutdown, POLLIN, 0}, {client, POLLIN, 0}};
  const auto is_over = [&watched] {
    return std::any_of(watched + 1, watched + 4, [](const pollfd& fd) { return fd.revents != 0; });
  };
  while (poll(watched, 4, -1) <= 0 || !is_over()) {
    signalfd_siginfo ended;
    if (watched[0].revents != 0 && read(children, &ended, sizeof ended) > 0) reap_orphans();
  }
  server.value().reset();
  unlink(address.c_str());
  close(lock);
  return 0;
}

}  // namespace
}  // namespace filibuster

int main(int argc, char** argv) {
  filibuster::open_standard_descriptors();
  filibuster::take_name("filibusterd");
  filibuster::DaemonOptions options;
  CLI::App app("The daemon of Filibuster: explores tests, injects faults, keeps the results.",
               "filibusterd");
  app.add_option("--root", options.root, "where state, logs and results are kept")
      ->capture_default_str();
  app.add_option("--ready-fd", options.ready_fd, "gets one byte when the API answers");
  app.add_flag("--exit-with-client", options.exit_with_client,
               "end when the process that started this one, or the client of a session, ends");
  app.set_version_flag("--version", std::string("filibusterd ") + filibuster::kVersion);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : filibuster::kExitUsage;
  }
  try {
    return filibuster::serve(options);
  } catch (const std::exception& error) {
    return filibuster::complain(error.what());
  }
}
