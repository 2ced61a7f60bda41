// The configuration without its secrets, as a counterexample keeps it, and with them again, for a
// replay.
#pragma once

#include <string>
#include <vector>

namespace filibuster {

// `text` as it is where there is no secret in it, or where it is no JSON object.
std::string redact_config(const std::string& text);

struct RestoredConfig {
  std::string text;
  // "variable 'DB_PASSWORD' of service 'users'", "'command' of test 'checkout'": redacted, and
  // found nowhere.
  std::vector<std::string> missing;
};
// Takes what `redacted` leaves out from `now`, the configuration's file as it is now ("": there is
// none): what stands at the same place there, and would be redacted to the same. Else variables of
// the environment are taken from that of this process.
RestoredConfig restore_config(const std::string& redacted, const std::string& now);

}  // namespace filibuster
