// suite.json (docs/schema/suite-report.schema.json). Credentials are redacted.
#include <nlohmann/json.hpp>

#include "daemon/redact/redact.h"
#include "daemon/retries/suite_results.h"

namespace filibuster::retries {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSuiteVersion = 1;

Json row(const SiteRow& site) {
  return {{"call_site", site.site},  {"service", site.service},     {"call", redact(site.call)},
          {"calls", site.calls},     {"attempts", site.attempts},   {"grouped_by", site.grouped_by},
          {"why_not", site.why_not}, {"own_error", site.own_error}, {"seen", site.seen}};
}

Json row(const SuiteTestRow& test) {
  Json sites = Json::array();
  for (const SiteRow& site : test.sites) sites.push_back(row(site));
  return {{"test", test.name},           {"kind", test.system ? "system" : "unit"},
          {"seconds", test.seconds},     {"left_out", redact(test.left_out)},
          {"own_calls", test.own_calls}, {"call_sites", std::move(sites)}};
}

Json row(const FaultRow& fault) {
  Json calls = Json::array();
  for (const std::string& call : fault.calls) calls.push_back(redact(call));
  return {{"test", fault.test},
          {"call_site", fault.site},
          {"policy", fault.policy},
          {"attempts", fault.attempts},
          {"estimate_seconds", fault.estimate},
          {"execution", fault.execution == 0 ? Json(nullptr) : Json(fault.execution)},
          {"tries", fault.tries},
          {"tried_again", fault.tried_again},
          {"skipped", redact(fault.skipped)},
          {"seconds", fault.seconds},
          {"oracle", oracle_name(fault.oracle)},
          {"evidence", redact(fault.evidence)},
          {"label", taxonomy_name(fault.label.taxonomy)},
          {"label_evidence", redact(fault.label.evidence)},
          {"came", fault.seen},
          {"grouped_by", fault.grouped_by},
          {"retried_by", fault.retried_by},
          {"calls", std::move(calls)},
          {"library_says", fault.library_says}};
}

Json row(const ClusterRow& row) {
  return {{"number", row.number},
          {"label", taxonomy_name(row.cluster.label.taxonomy)},
          {"label_evidence", redact(row.cluster.label.evidence)},
          {"oracle", oracle_name(row.cluster.oracle)},
          {"what", redact(row.cluster.what)},
          {"call_site", row.cluster.call_site},
          {"frames", row.cluster.frames},
          {"test", row.test},
          {"policy", row.policy},
          {"executions", row.cluster.members},
          {"reproduced", row.reproduced ? Json(*row.reproduced) : Json(nullptr)},
          {"not_replayed", redact(row.not_replayed)},
          {"likely_bug", !row.hung_once()},
          {"counterexample", row.counterexample}};
}

Json row(const WaitingClient& client) {
  return {{"client", client.client},
          {"waited", client.waited},
          {"call_site", client.site},
          {"executions", client.executions}};
}

Json row(const PairRow& pair) {
  return {{"test", pair.test}, {"call_site", pair.site}};
}

Json row(const MetricRow& metric);

template <typename Row>
Json rows(const std::vector<Row>& all) {
  Json out = Json::array();
  for (const Row& one : all) out.push_back(row(one));
  return out;
}

Json row(const MetricRow& metric) {
  return {{"metric", metric_name(metric.metric)},
          {"executions", metric.executions},
          {"pairs", metric.pairs},
          {"untried", rows(metric.untried)},
          {"estimate_seconds", metric.seconds},
          {"gap", metric.gap}};
}

}  // namespace

std::string to_json(const SuiteResults& results) {
  Json json = {{"version", kSuiteVersion},
               {"session", results.session},
               {"config", results.config_path},
               {"exit_code", results.exit_code},
               {"estimate_only", results.estimate_only},
               {"metric", metric_name(results.metric)},
               {"policies", results.policies},
               {"estimates", rows(results.metrics)},
               {"assumptions", results.assumptions},
               {"why_gap", results.why_gap},
               {"reference_seconds", results.reference_seconds},
               {"estimate_seconds", results.estimate_seconds},
               {"measured_seconds", results.measured_seconds},
               {"replay_seconds", results.replay_seconds},
               {"tests", rows(results.tests)},
               {"faults", rows(results.faults)},
               {"untried", rows(results.untried)},
               {"clusters", rows(results.clusters)},
               {"waiting_clients", rows(results.clients)},
               {"notes", results.notes}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace filibuster::retries
