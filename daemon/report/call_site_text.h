// Call sites for people: of a native function without its template arguments and parameters, which may fill lines. Identities and
// documents keep the whole name.
#pragma once

#include <string>
#include <string_view>

namespace filibuster {

// "bank.cc:17 (once(char const*, std::vector<int> const&))" -> "bank.cc:17 (once)". What is no name of C++ stays as it is.
std::string call_site_text(std::string_view frame);

}  // namespace filibuster
