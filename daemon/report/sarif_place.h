// How SARIF names a place in the sources (daemon/report/source_place.h).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace filibuster {

// The base of the relative addresses of a SARIF document (§3.14.14).
inline constexpr const char* kSarifRoot = "SRCROOT";
inline constexpr const char* kSarifSchema =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
// SARIF 2.1.0 §3.4: a file below `directory` is named relative to it, so that the document fits any
// checkout. A path that is relative already is the one that a compiler was given; where the
// compiler ran is not known.
nlohmann::ordered_json sarif_artifact(const std::string& file, const std::string& directory);
// The value of `originalUriBaseIds`, for a directory that is not empty.
nlohmann::ordered_json sarif_base(const std::string& directory);

}  // namespace filibuster
