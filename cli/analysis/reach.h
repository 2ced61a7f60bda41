// Which parts of a program's sources can take part in it: everything of the program's own file, and
// of what it imports the functions and classes that are mentioned in what takes part.
#pragma once

#include <vector>

#include "cli/analysis/scan.h"

namespace filibuster::analysis {

class Reach {
 public:
  explicit Reach(const ServiceSources& sources);
  bool contains(size_t file, uint32_t token) const;

 private:
  struct Part {
    uint32_t begin = 0, end = 0;
  };
  std::vector<std::vector<Part>> unreached_;  // of each file, in order
};

}  // namespace filibuster::analysis
