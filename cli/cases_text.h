// What `filibuster cases` prints of cases.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "daemon/cases/model.h"

namespace filibuster::cli {

std::string case_file_name(const cases::Case& of);  // without its folder and ".json"
std::string counted_cases(size_t number, const std::string& what);
std::string case_answer_text(const cases::Case& of);
// Says what is wrong with files, and returns the exit code for that.
int complain_of_files(const std::vector<ConfigError>& errors);

// `whole`: bodies to their ends.
int show_case(const std::string& file, bool whole);
// What two folders do not have in common.
int diff_cases(const std::string& before, const std::string& now);

}  // namespace filibuster::cli
