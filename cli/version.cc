#include "core/version.h"

#include <CLI/App.hpp>
#include <cstdio>

#include "cli/verb.h"
#include "core/protocol/control_page.h"

namespace filibuster::cli {
namespace {

Work declare_version(CLI::App&) {
  return [](const Invocation&) {
    std::printf("filibuster %s (agent protocol %d.%d)\n", kVersion, kProtocolMajor, kProtocolMinor);
    return 0;
  };
}

}  // namespace

const Verb kVersionVerb = {"version", "print the version", "", "", declare_version};

}  // namespace filibuster::cli
