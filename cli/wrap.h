// Texts in the columns of a terminal. Each character of UTF-8 counts as one column. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace filibuster::cli {

size_t columns_of(std::string_view text);

// `text` with its lines broken at blanks, so that none has more than `columns` where a word allows that. What follows
// stands indented below. Lines that a person copies (a replay command, a member of the configuration) stay whole, and so
// does everything if `columns` is 0.
std::string wrapped(std::string_view text, size_t columns);

// The first words of a line that fit.
std::string first_words(std::string_view line, size_t columns);

}  // namespace filibuster::cli
