// Takes the secrets out of a configuration, for a counterexample, and puts them back, for a replay.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace filibuster {

// `text` without its secrets. A text that has none is returned byte for byte; one that is no JSON
// object goes through redact().
std::string redact_config(const std::string& text);

struct RestoredConfig {
  std::string text;
  // The redacted values that were found nowhere: "variable 'DB_PASSWORD' of service 'users'",
  // "'command' of test 'checkout'".
  std::vector<std::string> missing;
};
// Puts the secrets back into `redacted`. `now` is the text of the configuration's file as it is now (""
// if there is none): a value at the same place there is taken if redaction would make it the same
// text. Otherwise an environment variable is taken from the environment of this process.
RestoredConfig restore_config(const std::string& redacted, const std::string& now);

// The value of `nondeterminism` as a list of masks. A path may contain a secret: its segment becomes '*', which matches
// the same requests.
nlohmann::ordered_json redacted_masks(const std::string& text);

}  // namespace filibuster
