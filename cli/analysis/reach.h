// Which parts of a program's sources the program can reach: all of its own file, and those functions
// and classes of imported files whose names are mentioned in a part that is reached.
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
  std::vector<std::vector<Part>> unreached_;  // for each file, by its index
};

}  // namespace filibuster::analysis
