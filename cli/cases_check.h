// `filibuster cases check`: are the files of a set good, and is there a secret in them?
#pragma once

#include <string>

namespace filibuster::cli {

// `against`: a file with a secret a line, none of which may stand in the folder; "": there is none.
int check_cases(const std::string& folder, const std::string& against);

}  // namespace filibuster::cli
