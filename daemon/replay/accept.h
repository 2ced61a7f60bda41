// A case as it would be recorded of what a replay has shown: what differed is accepted, as snapshot tests do.
#pragma once

#include <functional>
#include <string>

#include "core/result.h"
#include "daemon/cases/difference.h"
#include "daemon/cases/model.h"

namespace filibuster::replay {

// `answer`: of the service in that replay. `arrived`: what a call of it brought (Difference::arrival). A call that brings something else
// keeps its recorded answer, and the service has not had it yet: the case is to be replayed again, until it passes. Error: why it cannot be
// accepted.
Result<cases::Case> accepted(const cases::Case& of, const cases::Verdict& verdict,
                             const cases::Answer& answer,
                             const std::function<cases::CallInput(size_t)>& arrived);

}  // namespace filibuster::replay
