// The documents of a run: report.json and those for CI beside it (docs/ci.md).
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "daemon/model/session_report.h"

namespace filibuster {

// Texts by format, as the API names them: "json", "junit", "sarif", "markdown".
using Documents = std::map<std::string, std::string>;
Documents make_documents(const SessionReport& report);

// "application/sarif+json" of "sarif"; of an unknown format that of plain text.
std::string_view media_type(std::string_view format);

struct WrittenDocuments {
  std::string report;   // path of report.json; "": it could not be written anywhere
  std::string problem;  // why they are not in `root`, and where they are; "": they are there
};
// Writes them to `root`. Where it takes them no more (it is full, or something is in the way), they
// go to a new private folder in the system's temporary one, so that nothing found is lost.
WrittenDocuments write_documents(const std::string& root, const Documents& documents);

}  // namespace filibuster
