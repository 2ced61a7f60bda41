// The call sites of a suite, when it is known what each of its tests calls: a helper through which several functions of the
// application call is told apart by its callers only where their calls differ, in whichever tests.
#pragma once

#include <map>
#include <string>

#include "daemon/verbs/suite/tester.h"

namespace filibuster {

// Makes the rows of the call sites, and `calls`, of what was seen.
void name_call_sites(std::map<std::string, SuiteTest>* tests);

}  // namespace filibuster
