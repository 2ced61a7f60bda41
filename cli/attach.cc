// `filibuster attach`: `run` with services that run already.
#include <CLI/App.hpp>

#include "cli/run.h"
#include "cli/verb.h"

namespace filibuster::cli {
namespace {

Work declare_attach(CLI::App& app) {
  std::vector<std::string>* attached = nullptr;
  Work work = declare_run(app, &attached);
  app.add_option(
         "services", *attached,
         "what runs already: NAME=pid:PID, NAME=port:PORT, NAME=cgroup:PATH (below the mount "
         "of cgroup2) or NAME=name:PATTERN (of the program or its script)")
      ->type_name("NAME=WHAT")
      ->required();
  return [work = std::move(work)](const Invocation& invocation) {
    if (!invocation.has_command)
      return complain(kUsage,
                      "the test is missing: write it after '--', as in `filibuster attach "
                      "users=port:8080 -- ./their_test`");
    return work(invocation);
  };
}

}  // namespace

const Verb kAttachVerb = {
    "attach", "the same on services that run already, of any kind, without a restart",
    "  filibuster attach users=pid:4711 movies=port:8080 -- ./their_test\n"
    "  filibuster attach 'users=name:users*' -- pytest test_it.py\n"
    "  filibuster attach users=cgroup:/system.slice/users.service -- ./their_test\n"
    "\nIt needs the rights to load eBPF programs (root, or CAP_BPF and others): `filibuster doctor`\n"
    "says what is missing. All options and the exit status are those of `filibuster run`.\n",
    "-- TEST [ARG...]", declare_attach};

}  // namespace filibuster::cli
