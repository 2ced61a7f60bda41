// What a counterexample file holds (docs/report.md).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/index/execution_index.h"
#include "daemon/model/injected_fault.h"

namespace filibuster {

struct Counterexample {
  std::string test;
  std::string config_path, config_text, directory;
  std::vector<InjectedFault> faults;
  // Of a property-based test, in place of faults: the program, as JSON (docs/schema/counterexample.schema.json 'property'). "": it is of another
  // test.
  std::string property;
  std::string verdict, detail, output;
  std::vector<std::string> seen;  // Execution::seen
  // As in the exploration: other parts or other masks (config.h to_config_text) give other indexes.
  uint32_t index_parts = kIndexAll;
  std::string nondeterminism = "[]";
  std::string descriptors;  // of gRPC services, by server reflection, serialized (descriptor_set.h)
  // Ports that were chosen automatically: a replay uses them again, since requests and answers may
  // contain them.
  std::map<std::string, uint16_t> ports;
  uint32_t hang_limit_ms = 0;  // what was in force; 0: not known
};

}  // namespace filibuster
