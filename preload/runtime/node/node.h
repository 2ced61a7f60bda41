// Node 18 and later: its helper is a script that runs in the process itself, before the program.
//
//   environment.cc  before main: NODE_OPTIONS asks for the script, if this process is a Node
//   helper.cjs      the script: carries contexts with AsyncLocalStorage, takes call sites
//   addon.cc        what the script calls: this library is a Node-API addon as well
//   arrivals.cc     which context the request has that the script sees arriving
#pragma once

#include <cstdint>
#include <string_view>

#include "preload/runtime/runtimes.h"

namespace filibuster::preload::node {

extern const TaskReader kReader;

// The script has loaded this library as an addon.
void note_helper_started();

}  // namespace filibuster::preload::node
