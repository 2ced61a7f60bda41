// Brings the variables that sources read together with the services of a draft: each address of a
// service becomes ${port:NAME}, and what nothing sets is named.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/init/draft.h"
#include "cli/init/reads.h"

namespace filibuster::init {

struct Reader {         // a service, or the test
  std::string service;  // "": the test
  std::vector<VariableRead> reads;
  std::map<std::string, std::string> dot_env;  // what the files `.env` in its folder hold
  bool has_sources = false;                    // some were found
  bool tls = false;                            // one of them serves TLS
};

// What sources tell of the ports of services: the variable that tells a service its own one, where
// nothing else does, and ports that others know.
void learn_ports(const std::vector<Reader>& readers, Draft* draft);

// Writes what leads to services into the environments, and adds remarks. `environment` has what the
// caller's own sets.
void wire(const std::vector<Reader>& readers, const ReadVariable& environment, Draft* draft);

}  // namespace filibuster::init
