// What `run` and `attach` have in common: an exploration with all of its options.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "cli/verb.h"

namespace filibuster::cli {

// Declares the options. `*attached` (null: not wanted) is where services that run already are put, as texts
// NAME=WHAT, before the work begins; it lives as long as what is returned.
Work declare_run(CLI::App& app, std::vector<std::string>** attached = nullptr);

}  // namespace filibuster::cli
