// `redact` of a configuration: rules for what is a secret (daemon/redact/rules.h).
#pragma once

#include <string>
#include <vector>

#include "daemon/config/reader.h"
#include "daemon/redact/rules.h"

namespace filibuster::config {

void read_redact(Reader& reader, const SourceNode& node, std::vector<RedactRule>* out);

}  // namespace filibuster::config
