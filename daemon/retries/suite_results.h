// What `filibuster suite` has to say: the tests, the plan, what each execution under faults came to, and the clusters.
// Made by daemon/verbs/suite/mode.cc. The text for people and suite.json (docs/suite.md) are made from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/retries/clusters.h"
#include "daemon/retries/coverage.h"

namespace filibuster::retries {

// A call site that a test reaches.
struct SiteRow {
  std::string site;        // "desk.py:31 (add)"
  std::string service;     // of its first call
  std::string call;        // "PUT /devstoreaccount1/*/screen.png"
  uint32_t calls = 0;      // logical calls, each with all of its attempts
  uint32_t attempts = 1;   // the most that one of them took without a fault
  std::string grouped_by;  // how these were told to be one call; "": each had one attempt
  std::string why_not;     // why it gets no fault; "": it does
  // How the server answers the call without a fault, if that is an error, after which the application goes on: "409". Only
  // policies that keep requests from the server are tried then. "": it answers well, or the call gets no fault.
  std::string own_error;
  std::string seen;  // "seen in 2 of 4 executions: ..." where its call comes in some only; else ""
};

struct SuiteTestRow {
  std::string name;
  bool system = false;
  double seconds = 0;      // of its last run without faults
  std::string left_out;    // why it gets no faults; "": it does
  uint32_t own_calls = 0;  // calls that the test's own code makes
  std::vector<SiteRow> sites;
};

// One planned execution.
struct FaultRow {
  std::string test, site, policy;
  std::string attempts;  // the sequence as text
  double estimate = 0;   // seconds
  // --- what came of it ---
  uint32_t execution = 0;   // 0: it was not executed, and `skipped` says why
  uint32_t tries = 0;       // executions that were made for it; only the last one counts
  std::string tried_again;  // why the earlier ones do not count; "": there was one at most
  std::string skipped;      // why it was not executed, or why nothing can be concluded from it
  double seconds = 0;
  Oracle oracle = Oracle::kNone;
  std::string evidence;
  Label label;
  uint32_t came = 0;              // attempts that came
  std::vector<std::string> seen;  // what each of them got: "timeout:after", "pass"
  std::string retried_by;         // retried_by_name
  std::string grouped_by;         // the rule by which the second attempt belongs to the first one
  // --- of a likely bug alone ---
  std::vector<std::string> calls;  // what came of the call (calls_since)
  std::string library_says;        // said_of_retries
};

struct ClusterRow {
  Cluster cluster;           // its members are positions in SuiteResults::faults
  std::string test, policy;  // of the first member
  std::optional<bool>
      reproduced;  // by the replay; nullopt: `not_replayed` says why it is not known
  std::string not_replayed;
  std::string counterexample;  // path; "": it could not be written
  uint32_t number = 0;
  // One execution hung, and its replay did not: a client that is late on a busy machine looks the same.
  bool hung_once() const {
    return cluster.oracle == Oracle::kHang && cluster.members.size() == 1 && reproduced == false;
  }
};

// A client that waited for an answer for longer than the hang limit, which is said once.
struct WaitingClient {
  std::string client;  // "test -> blobs"
  std::string waited;  // "test: caller still waited after 6 s for an answer"
  std::string site;    // where it was seen first
  uint32_t executions = 0;
};

struct PairRow {
  std::string test, site;
};

// What a metric would take, before anything is faulted.
struct MetricRow {
  Metric metric = Metric::kC4;
  size_t executions = 0, pairs = 0;
  std::vector<PairRow> untried;  // reached, and left out by this metric
  double seconds = 0;
  double gap = 0;
};

struct SuiteResults {
  std::string session, config_path;
  bool estimate_only = false;
  Metric metric = Metric::kC4;
  std::vector<std::string> policies;
  std::vector<MetricRow> metrics;
  std::vector<SuiteTestRow> tests;
  std::vector<FaultRow> faults;
  std::vector<PairRow> untried;  // by the plan that is executed
  std::vector<ClusterRow> clusters;
  std::vector<WaitingClient> clients;
  double reference_seconds = 0, estimate_seconds = 0, measured_seconds = 0, replay_seconds = 0;
  std::string why_gap;
  std::string assumptions;  // on which the estimate rests
  std::string plan_file;    // that was written
  std::vector<std::string> notes;
  int exit_code = 0;
};

std::string to_text(const SuiteResults& results);
std::string to_json(const SuiteResults& results);  // suite.json, version 1

}  // namespace filibuster::retries
