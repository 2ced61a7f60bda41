#include "daemon/report/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/model/call_name.h"
#include "daemon/model/fault_json.h"
#include "daemon/redact/config_secrets.h"
#include "daemon/redact/redact.h"
#include "daemon/report/json_rows.h"
#include "daemon/report/representation.h"
#include "daemon/report/test_row.h"
#include "daemon/report/variation.h"

namespace filibuster {
namespace {

nlohmann::json phases_json(const Phases& phases) {
  return {{"prepare", phases.prepare}, {"start", phases.start}, {"rpcs", phases.rpcs},
          {"test", phases.test},       {"quiet", phases.quiet}, {"verdict", phases.verdict},
          {"store", phases.store}};
}

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr size_t kMaxSample = 256;  // bytes of a body that the tree of a report shows

// Bytes that are not UTF-8 (a test may print anything) become U+FFFD.
std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json hash(Hash128 value) {
  return value.is_zero() ? Json("") : Json(to_hex(value));
}

Json row(const Execution& execution) {
  return {{"execution", execution.number},
          {"id", execution.id},
          {"verdict", verdict_name(execution.verdict)},
          {"detail", execution.detail},
          {"output", execution.output},
          {"seen", execution.seen},
          {"mending", to_text(execution.mending)},
          {"seconds", execution.seconds},
          {"faults", fault_rows(execution.faults)}};
}

Json row(const Finding& finding) {
  return {{"id", finding.id},
          {"faults", fault_rows(finding.minimal)},
          {"executions", finding.executions},
          {"reproduced", finding.reproduced ? Json(*finding.reproduced) : Json(nullptr)},
          {"counterexample", finding.counterexample},
          {"standing", standing_name(finding.standing)},
          {"because", finding.because},
          {"until", finding.until},
          {"first", row(finding.minimal_execution)}};
}

Json row(const PrunedUnlike& pruned) {
  return {{"faults", fault_rows(pruned.faults)},
          {"executions", pruned.executions},
          {"rpc", redact(pruned.rpc)},
          {"like", fault_rows(pruned.like)}};
}

Json row(const NotInterposedRecord& record) {
  return {{"service", record.service},
          {"peer", record.peer},
          {"target_service", record.target_service},
          {"reason", record.reason},
          {"outgoing", record.outgoing},
          {"times", record.times}};
}

Json row(const RpcRecord& rpc) {
  // Redacted before it is cut: a part of a secret is not recognised.
  const std::string sample = redact(rpc.response_sample).substr(0, kMaxSample);
  const AnswerCode code = code_of(rpc);
  return {{"index", hash(rpc.index)},
          {"parent", hash(rpc.parent)},
          {"caller", rpc.caller},
          {"service", rpc.service},
          {"received_by", rpc.received_by},
          {"method", rpc.method},
          {"path", rpc.target},
          {"protocol", protocol_name(rpc.protocol())},
          {"grpc", grpc_name(rpc)},
          {"arguments", Json::parse(redact_object(rpc.arguments))},
          {"count", rpc.count},
          {"cause", cause_name(rpc.cause)},
          {"outcome", rpc.open ? "open" : outcome_name(rpc.outcome)},
          {"status", rpc.status},
          {"grpc_status", grpc_status_name(rpc)},
          {"begun", rpc.begun},
          {"grpc_message", rpc.grpc_message},
          {"code_space", code_space_name(code.space)},
          {"code", code.text},
          {"stream_error", stream_error_name(rpc)},
          {"response_size", rpc.response_size},
          {"response", sample},
          {"stack", rpc.stack_text},
          {"tags", tags_of(rpc)}};
}

Json row(const ObservedAnswer& answer) {
  Json under = Json::array();
  for (const FailedCall& call : answer.under) {
    under.push_back({{"service", call.service},
                     {"method", call.method},
                     {"path", call.path},
                     {"what", call.what},
                     {"injected", call.injected}});
  }
  return {{"service", answer.service},
          {"method", answer.method},
          {"path", answer.path},
          {"protocol", protocol_name(answer.protocol)},
          {"grpc", grpc_name(answer.method, answer.path, answer.protocol)},
          {"answer", answer.answer},
          {"under", std::move(under)}};
}

Json row(const TestedRpcs& rpcs) {
  Json untested = Json::array();
  for (const auto& [rpc, reason] : rpcs.untested)
    untested.push_back({{"rpc", rpc}, {"reason", reason}});
  return {{"tested", rpcs.tested},
          {"untested", std::move(untested)},
          {"by_configuration", rpcs.by_configuration}};
}

Json row(const Timeouts& client) {
  return {{"caller", client.caller},         {"service", client.service},
          {"elapsed", client.ended_at_once}, {"waited", client.waited},
          {"hang_limit", client.hang_limit}, {"longest", client.longest}};
}

Json row(const Refusals& client) {
  return {{"caller", client.caller},     {"service", client.service},
          {"protocol", client.protocol}, {"refused", client.refused},
          {"reset", client.reset},       {"never_refused", client.never_refused}};
}

Json row(const search::SearchCounts& counts) {
  return {{"executed", counts.executed},         {"scheduled", counts.scheduled},
          {"redundant", counts.redundant},       {"duplicate", counts.duplicate},
          {"beyond_bound", counts.beyond_bound}, {"open", counts.open},
          {"abandoned", counts.abandoned},       {"left_out", counts.left_out}};
}

Json row(const ReferenceAgain& again) {
  Json drifts = Json::array();
  for (const Drift& drift : again.drifts) {
    drifts.push_back({{"what", drift.what},
                      {"after", drift.after},
                      {"seen", drift.seen},
                      {"until", drift.until},
                      {"executions", drift.executions},
                      {"findings", drift.findings}});
  }
  return {{"executions", again.executions}, {"drifts", std::move(drifts)}};
}

Json nondeterminism(const TestReport& test) {
  Json varied = Json::array();
  for (const Variation& variation : test.variations) {
    varied.push_back({{"rpc", variation.rpc},
                      {"what", variation.what},
                      {"effect", effect_text(variation.effect)},
                      {"reason", variation.reason},
                      {"under", variation.under}});
  }
  return {{"reference_executions", test.reference_executions},
          {"varied", std::move(varied)},
          {"proposed", redacted_masks(test.proposed_masks)}};
}

// Everything but the lists of executions and RPCs, which report.json and report.html show each in a way
// of its own.
Json common_row(const TestReport& test) {
  Json skipped = Json::array(), dependencies = Json::array(), unexplained = Json::array(),
       pruned = Json::array(), refusals = Json::array(), timeouts = Json::array();
  for (const Skipped& skip : test.skipped) {
    skipped.push_back({{"what", skip.what}, {"reason", skip.reason}});
  }
  for (const Unexplained& group : test.unexplained) {
    unexplained.push_back({{"cause", group.cause},
                           {"executions", group.executions},
                           {"advice", group.advice},
                           {"example", group.example}});
  }
  for (const PrunedUnlike& fault : test.pruned_unlike) pruned.push_back(row(fault));
  for (const auto& record : test.dependencies_not_tested) dependencies.push_back(row(record));
  for (const Timeouts& client : test.timeouts) timeouts.push_back(row(client));
  for (const Refusals& client : test.refusals) refusals.push_back(row(client));
  return {
      {"test", test.test},
      {"finished", test.finished},
      {"error", test.error},
      {"time_over", test.time_over},
      {"counts", row(test.counts)},
      {"seconds",
       {{"total", test.seconds},
        {"reference", test.reference_seconds},
        {"median_execution", test.median_execution_seconds}}},
      {"start",
       {{"way", test.start},
        {"why_not_forked", redact(test.why_not_forked)},
        {"why_not_reset", redact(test.why_not_reset)}}},
      {"lanes", {{"used", test.lanes}, {"not_needed", test.thrown_away}, {"number", test.lane}}},
      {"profile",
       {{"executions", test.profiled},
        {"median", phases_json(test.median_phases)},
        {"total", phases_json(test.total_phases)}}},
      {"search_seconds",
       {{"scheduling", test.search_seconds.scheduling},
        {"reduction", test.search_seconds.reduction},
        {"store", test.store_seconds}}},
      {"fault_configuration", test.fault_configuration},
      {"skipped", std::move(skipped)},
      {"unexplained", std::move(unexplained)},
      {"pruned_unlike", std::move(pruned)},
      {"dependencies_not_tested", std::move(dependencies)},
      {"without_cause", test.without_cause},
      {"nondeterminism", nondeterminism(test)},
      {"reference_again", row(test.again)},
      {"damaged_fields", test.damaged_fields},
      {"notes", test.notes},
      {"rpcs", row(test.rpcs)},
      {"timeouts", std::move(timeouts)},
      {"refusals", std::move(refusals)},
      {"causes", cause_rows(test.findings)},
      {"cases", to_rows(test.cases)},
      {"left", to_rows(test.left)},
      {"left_places", to_rows(test.left_places)},
      {"places", {{"known", test.places.known}, {"tried", test.places.tried}}}};
}

Json row(const TestReport& test) {
  Json findings = Json::array(), reference = Json::array(), observed = Json::array();
  for (const Finding& finding : test.findings) {
    Json out = row(finding);
    out["number"] = finding.number;
    findings.push_back(std::move(out));
  }
  for (const RpcRecord& rpc : test.reference) reference.push_back(row(rpc));
  for (const ObservedAnswer& answer : test.observed) observed.push_back(row(answer));
  Json out = common_row(test);
  out["findings"] = std::move(findings);
  out["reference"] = std::move(reference);
  out["observed"] = std::move(observed);
  return out;
}

Json attached_rows(const std::vector<AttachedRow>& attached) {
  Json out = Json::array();
  for (const AttachedRow& row : attached) {
    out.push_back({{"service", row.service},
                   {"program", row.program},
                   {"pids", row.pids},
                   {"started", row.started}});
  }
  return out;
}

}  // namespace

nlohmann::ordered_json test_row(const TestReport& test) {
  return common_row(test);
}

std::string to_json(const SessionReport& report) {
  Json tests = Json::array();
  for (const TestReport& test : report.tests) tests.push_back(row(test));
  redact_texts(&tests);
  Json baseline = to_row(report.baseline);
  redact_texts(&baseline);
  return dump({{"version", kVersion},
               {"session", report.session},
               {"config", report.config_path},
               {"exit_code", report.exit_code},
               {"error", redact(report.error)},
               {"command", redact(report.command_line)},
               {"baseline", std::move(baseline)},
               {"attached", attached_rows(report.attached)},
               {"tests", std::move(tests)}});
}

}  // namespace filibuster
