// The file of a case, `cases/<route>/<name>.json` (docs/record.md has its form). The same case has
// the same bytes, whenever it is written. A file is data: nothing in it is executed, and no name in
// it leads out of its folder. Pure; case_folder.h reads and writes the disk.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/cases/case_parts.h"
#include "daemon/cases/fields.h"
#include "daemon/cases/model.h"

namespace filibuster::cases {

struct WrittenFile {
  std::string name;  // "9a1c2b3d4e5f", without ".json"
  std::string text;
  FilesBeside beside;
};

// `name`: of the file (route.h, case_name).
WrittenFile write_case(const Case& of, const std::string& name);

enum class Seal : uint8_t {
  kChecked,
  kIgnored,  // of a file that a person has edited and accepts
};

struct ReadCase {
  Case value;
  std::vector<ConfigError> errors;  // with line and column; empty: the case is good
};
// `path` names the file in errors and in the case.
ReadCase read_case(std::string_view text, const std::string& path, const ReadBeside& beside,
                   Seal seal = Seal::kChecked);

// What belongs to the process (`process.json` of a set), in the same way.
inline constexpr std::string_view kProcessName = "process";
WrittenFile write_process(const ProcessRecord& of);
struct ReadProcess {
  ProcessRecord value;
  std::vector<ConfigError> errors;
};
ReadProcess read_process(std::string_view text, const std::string& path, const ReadBeside& beside,
                         Seal seal = Seal::kChecked);

}  // namespace filibuster::cases
