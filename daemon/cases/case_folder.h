// The files of a set on the disk.
#pragma once

#include <string>

#include "core/result.h"
#include "daemon/cases/case_file.h"
#include "daemon/cases/set_file.h"

namespace filibuster::cases {

// Files beside `path`. Links are not followed, so that none leads out of the folder, and a file
// above 64 MiB is not there.
ReadBeside beside(const std::string& path);

// A file that cannot be read is an error without a line.
ReadCase load_case(const std::string& path, Seal seal = Seal::kChecked);
ReadProcess load_process(const std::string& path, Seal seal = Seal::kChecked);
ReadSet load_set(const std::string& path);

// Bodies are there before the file that names them, and each file is there whole or not at all. The
// folder exists.
Result<void> save_file(const std::string& folder, const WrittenFile& file);

}  // namespace filibuster::cases
