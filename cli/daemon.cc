#include <unistd.h>

#include <CLI/App.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "cli/daemon_process.h"
#include "cli/verb.h"

namespace filibuster::cli {
namespace {

Work declare(CLI::App& app) {
  auto root = std::make_shared<std::string>(".filibuster");
  app.add_option("--root", *root, "where sessions, results and the daemon's address are kept")
      ->type_name("DIR")
      ->capture_default_str();
  return [root](const Invocation&) {
    const std::string program = own_directory() + "/filibusterd";
    std::error_code failed;
    const std::string absolute =
        std::filesystem::absolute(*root, failed).lexically_normal().string();
    execl(program.c_str(), program.c_str(), "--root", absolute.c_str(), nullptr);
    return complain(kEnvironment, program + ": " + std::strerror(errno));
  };
}

}  // namespace

const Verb kDaemonVerb = {
    "daemon", "run the daemon in the foreground, for services started by hand; `run` joins it",
    "  filibuster daemon &\n"
    "  LD_PRELOAD=libfilibuster.so FILIBUSTER_SERVICE=users ./users &\n"
    "  filibuster run --service users -- ./their_test\n",
    "", declare};

}  // namespace filibuster::cli
