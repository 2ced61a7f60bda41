#include <sys/wait.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "cli/daemon_process.h"
#include "cli/verb.h"
#include "daemon/base/own_files.h"

namespace filibuster::cli {
namespace {

void announce(const std::string& root) {
  const auto address = read_daemon_address(root);
  if (!address) return;
  std::printf(
      "daemon at %s (pid %lld), root %s\n"
      "start services where the run is started or below the folder of its filibuster.json (or\n"
      "with FILIBUSTER_APPLICATION, see filibuster(1)), then a run that joins:\n"
      "  LD_PRELOAD=%s FILIBUSTER_SERVICE=users ./users &\n"
      "  filibuster run --root %s --service users -- ./their_test\n",
      address->url.c_str(), static_cast<long long>(address->pid), root.c_str(),
      preload_path().c_str(), root.c_str());
  std::fflush(stdout);
}

// Starts a process that announces the daemon once it serves, since this process itself becomes the
// daemon. Returns the descriptor on which the daemon says that it serves, or -1.
int leave_announcer(const std::string& root) {
  int fds[2];
  if (pipe(fds) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    close(fds[1]);
    if (fork() != 0) _exit(0);  // the daemon must not have a child that it does not know
    char ready = 0;
    if (read(fds[0], &ready, 1) == 1) announce(root);
    _exit(0);
  }
  close(fds[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  return fds[1];
}

Work declare_daemon(CLI::App& app) {
  auto root = std::make_shared<std::string>(".filibuster");
  app.add_option("--root", *root, "where sessions, results and the daemon's address are kept")
      ->type_name("DIR")
      ->capture_default_str();
  return [root](const Invocation&) {
    const std::string program = own_directory() + "/filibusterd";
    std::error_code failed;
    const std::string absolute =
        std::filesystem::absolute(*root, failed).lexically_normal().string();
    if (auto prepared = prepare_root(absolute); !prepared)
      return complain(kEnvironment, prepared.error().message);
    const std::string ready_fd = std::to_string(leave_announcer(absolute));
    execl(program.c_str(), program.c_str(), "--root", absolute.c_str(), "--ready-fd",
          ready_fd.c_str(), nullptr);
    return complain(kEnvironment, program + ": " + std::strerror(errno));
  };
}

}  // namespace

const Verb kDaemonVerb = {
    "daemon", "run the daemon in the foreground, for services started by hand; `run` joins it",
    "  filibuster daemon &\n"
    "  LD_PRELOAD=libfilibuster.so FILIBUSTER_SERVICE=users ./users &\n"
    "  filibuster run --service users -- ./their_test\n"
    "\nServices join the session of their application: the nearest folder upwards with a\n"
    "filibuster.json, else the folder itself, or what FILIBUSTER_APPLICATION says on both sides.\n"
    "\nExit status: 0 ended by a signal, 2 usage, 3 environment; filibuster(1) has the table.\n",
    "", declare_daemon};

}  // namespace filibuster::cli
