// Why a connection was not interposed, as people read it.
#pragma once

#include <string>

#include "daemon/model/execution_record.h"

namespace filibuster {

// The name of the reason, "tls", and where the name does not say enough, what it means or what to do:
// "redis (it speaks Redis, and is not declared so: ...)".
std::string reason_text(const NotInterposedRecord& record);

}  // namespace filibuster
