#include "cli/verb.h"

#include <iostream>

namespace filibuster::cli {

int complain(int code, std::string_view message) {
  std::cerr << "filibuster: " << message << "\n";
  return code;
}

}  // namespace filibuster::cli
