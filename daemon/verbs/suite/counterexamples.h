// The counterexample files of a suite's clusters. They are written as soon as the clusters are known, so that a session
// that is stopped, or whose time is over, has them, too.
#pragma once

#include <map>
#include <string>

#include "daemon/retries/suite_results.h"
#include "daemon/verbs/suite/tester.h"

namespace filibuster {

// Gives each cluster its number and its file under `root`. Notes of `results` say what could not be written.
void write_counterexamples(const std::string& root, const SessionRequest& request,
                           const std::map<std::string, SuiteTest>& tests,
                           const std::map<size_t, SuiteEvidence>& evidence,
                           retries::SuiteResults* results);

}  // namespace filibuster
