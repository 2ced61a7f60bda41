// What a source imports from its own project, and which source a command runs, as paths to look for.
// The file system is not read here.
#pragma once

#include <string>
#include <vector>

#include "cli/analysis/source.h"

namespace filibuster::analysis {

struct Import {
  std::vector<std::string> candidates;  // relative paths; all that exist in one directory count
  bool upwards = false;  // to be looked for in the directories above the source's, too
};
std::vector<Import> imports_of(const Source& source);

// The Go packages that the source imports: "example.com/shop/users".
std::vector<std::string> go_packages_of(const Source& source);

// The program among the words of a command: paths that may be its source, best first.
//   exec python3 users.py --port 1     users.py
//   python3 -m shop.users              shop/users.py, shop/users/__main__.py
//   gunicorn shop.users:app            shop/users.py
//   java -cp build Users               Users.java
//   ../build/users                     users.cc, users.go, ../build/users/main.go, ...
std::vector<std::string> program_candidates(const std::vector<std::string>& words);
// Words of a text for the shell, without quotes. What stands before a ';' or '&&' is left out: the last
// command is the service.
std::vector<std::string> shell_words(const std::string& text);

// True for tests and for generated or minified sources. They are not read, since the service does not
// answer with the statuses in them.
bool is_test_or_generated(const std::string& path);
// A folder that holds no sources of the project itself: node_modules, .git, build, venv, ...
bool is_foreign_folder(const std::string& name);

}  // namespace filibuster::analysis
