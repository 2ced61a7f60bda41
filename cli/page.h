// The page of a report: where it lies, and how it is named to a person.
#pragma once

#include <string>

namespace filibuster::cli {

// "file:///home/me/.filibuster/report.html": what terminals and browsers take for an address.
std::string page_address(const std::string& path);

// False: the build left the page out, because npm was missing.
bool page_is_built();

}  // namespace filibuster::cli
