#include <filesystem>

#include "cli/init/draft.h"

namespace filibuster::init {
namespace {

namespace fs = std::filesystem;

// As pytest finds them by default.
bool has_tests_of_pytest(const fs::path& folder) {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename();
    if (name == "pytest.ini" || name == "conftest.py" ||
        (name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py"))))
      return true;
  }
  return false;
}

}  // namespace

std::string test_of_folder(const std::string& folder) {
  const fs::path here = folder.empty() ? "." : folder;
  for (const char* const below : {"", "tests", "test"}) {
    if (has_tests_of_pytest(here / below)) return "exec pytest -q";
  }
  return "";
}

}  // namespace filibuster::init
