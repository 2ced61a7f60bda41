// What a source needs of its own project, as it is written there: where to look is said, nothing is
// looked up.
#pragma once

#include <string>
#include <vector>

#include "cli/analysis/source.h"

namespace filibuster::analysis {

struct Import {
  std::vector<std::string> candidates;  // relative paths; all that exist in one directory count
  bool upwards = false;                 // looked for in the directories above the source's, too
};
std::vector<Import> imports_of(const Source& source);

// The Go packages that it imports: "example.com/shop/users".
std::vector<std::string> go_packages_of(const Source& source);

// The program among the words of a command: paths that may be its source, best first.
//   exec python3 users.py --port 1     users.py
//   python3 -m shop.users              shop/users.py, shop/users/__main__.py
//   gunicorn shop.users:app            shop/users.py
//   java -cp build Users               Users.java
//   ../build/users                     ../build/users.cc, users.cc, ...
std::vector<std::string> program_candidates(const std::vector<std::string>& words);
// Words of a text for the shell, quotes taken away; ended by the first ';', '&&', '|'.
std::vector<std::string> shell_words(const std::string& text);

// Generated, minified, or a test: not looked at, since its statuses are somebody else's.
bool is_test_or_generated(const std::string& path);
// A folder that holds no sources of the project itself: node_modules, .git, build, venv, ...
bool is_foreign_folder(const std::string& name);

}  // namespace filibuster::analysis
