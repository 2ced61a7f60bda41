// Scripts: which program does a "#!" line, or `env` with its arguments, run?
#pragma once

#include <string_view>
#include <vector>

namespace filibuster {

// What white space separates.
std::vector<std::string_view> split_words(std::string_view text);

// The words behind the "#!" of a script; empty: no script, or nothing stands there.
std::vector<std::string_view> interpreter_line(std::string_view bytes);

// "NAME=value": an assignment before a command.
bool is_assignment(std::string_view word);

// Is this path one of a program called env?
bool is_env(std::string_view program);

// The first word after `env`'s own options and assignments; argv[0] is env itself. Empty: none.
std::string_view after_env(const std::vector<std::string_view>& argv);

}  // namespace filibuster
