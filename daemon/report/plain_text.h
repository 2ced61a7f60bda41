// Text that any document may hold.
#pragma once

#include <string>
#include <string_view>

namespace filibuster {

// UTF-8 of characters that XML 1.0 allows (its §2.2): bytes that are not UTF-8, control characters
// but for tab, line feed and carriage return, and U+FFFE and U+FFFF become U+FFFD.
std::string plain_text(std::string_view text);
// plain_text() on one line: what ends a line, and tabs, become blanks.
std::string one_line(std::string_view text);

}  // namespace filibuster
