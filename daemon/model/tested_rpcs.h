// Which RPCs of an exploration were tested, and why others were not.
#pragma once

#include <map>
#include <set>
#include <string>

namespace filibuster {

// RPCs as "users -> movies GET /movies/1", without secrets.
struct TestedRpcs {
  std::set<std::string> tested;                 // a fault was injected, or proved to be redundant
  std::map<std::string, std::string> untested;  // RPC -> reason, other than the configuration
  // RPCs where the rules inject nothing, or that a bound kept the exploration from reaching. The test's
  // own requests are not among them.
  std::set<std::string> by_configuration;
  std::set<std::string> by_bound = {};  // those among them that the exploration did not reach

  void add(const TestedRpcs& other);
};

}  // namespace filibuster
