// `redact` of a configuration: rules for what is a secret (daemon/redact/rules.h).
#pragma once

#include <string>
#include <vector>

#include "daemon/config/reader.h"
#include "daemon/redact/rules.h"

namespace filibuster {

// The rules in the text of a configuration. What is wrong with them, parse_config() says: such rules are left out.
std::vector<RedactRule> redact_rules(const std::string& config_text);

namespace config {
void read_redact(Reader& reader, const SourceNode& node, std::vector<RedactRule>* out);
}

}  // namespace filibuster
