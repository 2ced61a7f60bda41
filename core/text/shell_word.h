// Texts of commands that a person copies into a shell.
#pragma once

#include <string>
#include <string_view>

namespace filibuster {

// `text` as one word of a POSIX shell: as it is where every byte stands for itself, else between
// single quotes (POSIX.1-2017, Shell Command Language 2.2.2).
std::string shell_word(std::string_view text);

}  // namespace filibuster
