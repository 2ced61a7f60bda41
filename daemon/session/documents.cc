#include "daemon/session/documents.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "daemon/process/session_lane.h"
#include "daemon/report/json.h"
#include "daemon/report/results.h"

namespace filibuster {
namespace {

namespace fs = std::filesystem;

struct DocumentRow {
  const char* format;
  const char* file;
  const char* media_type;
  std::string (*make)(const SessionReport& report);
};
constexpr DocumentRow kDocuments[] = {
    {"json", "report.json", "application/json", to_json},
    {"junit", "junit.xml", "application/xml", to_junit},
    {"sarif", "report.sarif", "application/sarif+json", to_sarif},
    {"markdown", "summary.md", "text/markdown; charset=utf-8", to_markdown}};

Result<void> write_to(const std::string& folder, const Documents& documents) {
  for (const DocumentRow& row : kDocuments) {
    if (auto done = write_file(folder + "/" + row.file, documents.at(row.format)); !done)
      return done;
  }
  return {};
}

}  // namespace

Documents make_documents(const SessionReport& report) {
  Documents out;
  for (const DocumentRow& row : kDocuments) out.emplace(row.format, row.make(report));
  return out;
}

std::string_view media_type(std::string_view format) {
  const auto* const row =
      std::find_if(std::begin(kDocuments), std::end(kDocuments),
                   [&](const DocumentRow& each) { return each.format == format; });
  return row == std::end(kDocuments) ? "text/plain; charset=utf-8" : row->media_type;
}

WrittenDocuments write_documents(const std::string& root, const Documents& documents) {
  const auto done = write_to(root, documents);
  if (done) return {root + "/report.json", ""};
  std::error_code failed;
  const fs::path temporary = fs::temp_directory_path(failed);
  std::string folder = (failed ? fs::path("/tmp") : temporary) / "filibuster-report-XXXXXX";
  if (mkdtemp(folder.data()) != nullptr && write_to(folder, documents)) {
    return {folder + "/report.json",
            done.error().message + "; the report and what belongs to it stand in " + folder};
  }
  return {"", done.error().message + "; nor can it be written to " + folder +
                  ": what was found stands on standard output only"};
}

}  // namespace filibuster
