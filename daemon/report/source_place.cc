#include "daemon/report/source_place.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/text/uri.h"
#include "daemon/report/sarif_place.h"

namespace filibuster {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

}  // namespace

Place parse_place(std::string_view frame) {
  // The file's name ends at the first ":DIGITS" that a blank or the end follows. The name of a
  // function may hold colons, too.
  for (size_t colon = frame.find(':'); colon != frame.npos; colon = frame.find(':', colon + 1)) {
    const size_t end = std::min(frame.find_first_not_of("0123456789", colon + 1), frame.size());
    if (end == colon + 1 || (end < frame.size() && frame[end] != ' ')) continue;
    Place place;
    const std::string_view digits = frame.substr(colon + 1, end - colon - 1);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), place.line);
    if (read.ec != std::errc{} || place.line == 0) continue;
    std::string_view file = frame.substr(0, colon);
    if (file.starts_with("file://")) file.remove_prefix(7);  // Node's modules
    place.file = file;
    std::string_view function = frame.substr(end);
    if (function.starts_with(" (") && function.ends_with(")"))
      place.function = function.substr(2, function.size() - 3);
    return place;
  }
  Place place;
  const size_t open = frame.find(" (");
  if (open != frame.npos && frame.ends_with(")"))
    place.function = frame.substr(open + 2, frame.size() - open - 3);
  return place;
}

Json sarif_artifact(const std::string& file, const std::string& directory) {
  const fs::path whole = fs::path(file).lexically_normal();
  if (whole.is_relative()) return {{"uri", uri_path(whole.string())}};
  const fs::path relative = whole.lexically_relative(fs::path(directory).lexically_normal());
  if (!directory.empty() && !relative.empty() && *relative.begin() != "..")
    return {{"uri", uri_path(relative.string())}, {"uriBaseId", kSarifRoot}};
  return {{"uri", file_uri(whole.string())}};
}

Json sarif_base(const std::string& directory) {
  return {{kSarifRoot, {{"uri", file_uri((fs::path(directory) / "").string())}}}};
}

}  // namespace filibuster
