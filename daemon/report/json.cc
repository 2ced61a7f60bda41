// report.json and counterexample files (docs/report.md). No exception of the JSON library leaves.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/text/base64.h"
#include "core/text/json_depth.h"
#include "daemon/agents/call_name.h"
#include "daemon/report/config_secrets.h"
#include "daemon/report/finding.h"
#include "daemon/report/json_rows.h"
#include "daemon/report/redact.h"
#include "daemon/report/representation.h"
#include "daemon/report/test_row.h"

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

struct PartRow {
  const char* name;
  uint32_t bit;
};
constexpr PartRow kParts[] = {{"payload", kIndexPayload},
                              {"stack", kIndexStack},
                              {"count", kIndexCount},
                              {"path", kIndexPath}};

Json part_names(uint32_t parts) {
  Json out = Json::array();
  for (const PartRow& part : kParts) {
    if ((parts & part.bit) != 0) out.push_back(part.name);
  }
  return out;
}

// Bytes that are not UTF-8 (a test may print anything) become U+FFFD.
std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// The path of a mask may contain a secret. Its segment becomes '*', which matches the same requests.
Json redacted_masks(const std::string& text) {
  Json masks = Json::parse(text, nullptr, false);
  if (!masks.is_array()) return Json::array();
  for (Json& mask : masks) {
    if (!mask.is_object() || !mask.contains("on") || !mask["on"].is_object()) continue;
    const auto path = mask["on"].find("path");
    if (path == mask["on"].end() || !path->is_string()) continue;
    std::string shown = redact(path->get<std::string>());
    for (size_t at; (at = shown.find(kRedacted)) != std::string::npos;) {
      const size_t begin = shown.rfind('/', at) + 1;  // 0 if there is no '/'
      shown.replace(begin, std::min(shown.find('/', at), shown.size()) - begin, "*");
    }
    *path = std::move(shown);
  }
  return masks;
}

Json hash(Hash128 value) {
  return value.is_zero() ? Json("") : Json(to_hex(value));
}

Json attempts_row(const std::vector<AttemptSeen>& attempts) {
  Json out = Json::array();
  for (const AttemptSeen& one : attempts)
    out.push_back(
        {{"number", one.number}, {"outcome", one.outcome}, {"grouped_by", one.grouped_by}});
  return out;
}

Json row(const InjectedFault& fault) {
  return {{"fault", fault.fault},
          {"key", fault.key},
          {"message", fault.message},
          {"answer", fault.answer},
          {"delivered_as", fault.as_reset ? "reset" : ""},
          {"attempts", attempts_row(fault.attempts)},
          {"caller", fault.caller},
          {"service", fault.service},
          {"method", fault.method},
          {"path", fault.path},
          {"query", redact(fault.query)},
          {"protocol", protocol_name(fault.protocol)},
          {"grpc", grpc_name(fault.method, fault.path, fault.protocol)},
          {"arguments", Json::parse(redact_object(fault.arguments))},
          {"count", fault.count},
          {"call_site", fault.call_site},
          {"stack", fault.stack},
          {"service_path", fault.service_path},
          {"index", hash(fault.index)},
          {"parent", hash(fault.parent)},
          {"signature", hash(fault.signature)},
          {"connect_key", hash(fault.connect_key)},
          {"stack_hash", hash(fault.stack_hash)},
          {"number", fault.number},
          {"service_number", fault.service_number},
          {"identity", hash(fault.stable.identity)},
          {"alike", fault.stable.alike}};
}

Json rows(const std::vector<InjectedFault>& faults) {
  Json out = Json::array();
  for (const InjectedFault& fault : faults) out.push_back(row(fault));
  return out;
}

Json row(const Execution& execution) {
  return {{"execution", execution.number},
          {"id", execution.id},
          {"verdict", verdict_name(execution.verdict)},
          {"detail", execution.detail},
          {"output", execution.output},
          {"seen", execution.seen},
          {"seconds", execution.seconds},
          {"faults", rows(execution.faults)}};
}

Json row(const Finding& finding) {
  return {{"id", finding.id},
          {"faults", rows(finding.minimal)},
          {"executions", finding.executions},
          {"reproduced", finding.reproduced ? Json(*finding.reproduced) : Json(nullptr)},
          {"counterexample", finding.counterexample},
          {"standing", standing_name(finding.standing)},
          {"because", finding.because},
          {"until", finding.until},
          {"first", row(finding.minimal_execution)}};
}

Json row(const PrunedUnlike& pruned) {
  return {{"faults", rows(pruned.faults)},
          {"executions", pruned.executions},
          {"rpc", redact(pruned.rpc)},
          {"like", rows(pruned.like)}};
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
      {"start", {{"way", test.start}, {"why_not_forked", redact(test.why_not_forked)}}},
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
      {"cases", to_rows(test.cases)},
      {"left", to_rows(test.left)}};
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

// --- reading ---

struct CounterexampleReader {
  const Json& object;
  const char* what;
  std::string problem;  // the first one

  void fail(const char* name, const char* expected) {
    if (problem.empty()) problem = std::string(what) + "." + name + ": expected " + expected;
  }
  void text(const char* name, std::string* out) {
    const auto at = object.find(name);
    if (at == object.end() || !at->is_string()) return fail(name, "a text");
    *out = at->get<std::string>();
  }
  void texts(const char* name, std::vector<std::string>* out) {
    const auto at = object.find(name);
    if (at == object.end() || !at->is_array()) return fail(name, "a list of texts");
    for (const Json& one : *at) {
      if (!one.is_string()) return fail(name, "a list of texts");
      out->push_back(one.get<std::string>());
    }
  }
  // Reads a member that older files do not have.
  void later_text(const char* name, std::string* out) {
    if (object.contains(name)) text(name, out);
  }
  void later_ports(const char* name, std::map<std::string, uint16_t>* out) {
    constexpr uint64_t kLastPort = 65535;
    const auto at = object.find(name);
    if (at == object.end()) return;
    if (!at->is_object()) return fail(name, "names with port numbers");
    for (const auto& [port, number] : at->items()) {
      if (!number.is_number_unsigned() || number.get<uint64_t>() > kLastPort) {
        return fail(name, "names with port numbers");
      }
      out->emplace(port, number.get<uint16_t>());
    }
  }
  void hash(const char* name, Hash128* out) {
    std::string digits;
    text(name, &digits);
    if (!digits.empty() && !from_hex(digits, out)) fail(name, "32 hexadecimal digits");
  }
  void number(const char* name, uint32_t* out) {
    const auto at = object.find(name);
    if (at == object.end() || !at->is_number_unsigned()) return fail(name, "a number");
    *out = at->get<uint32_t>();
  }
};

std::string read_fault(const Json& json, InjectedFault* out) {
  if (!json.is_object()) return "faults: expected a list of objects";
  CounterexampleReader reader{json, "faults", {}};
  reader.text("fault", &out->fault);
  reader.text("caller", &out->caller);
  reader.text("service", &out->service);
  reader.text("method", &out->method);
  reader.text("path", &out->path);
  reader.later_text("query", &out->query);
  reader.later_text("key", &out->key);
  reader.later_text("message", &out->message);
  reader.later_text("answer", &out->answer);
  std::string delivered_as;
  reader.later_text("delivered_as", &delivered_as);
  out->as_reset = delivered_as == "reset";
  std::string grpc, protocol;
  reader.later_text("grpc", &grpc);
  reader.later_text("protocol", &protocol);
  // Older files have no "protocol".
  out->protocol = grpc.empty() ? Protocol::kHttp : Protocol::kGrpc;
  if (const auto known = parse_protocol(protocol)) out->protocol = *known;
  if (const auto at = json.find("arguments"); at != json.end() && at->is_object())
    out->arguments = at->dump();
  reader.number("count", &out->count);
  reader.text("call_site", &out->call_site);
  reader.texts("stack", &out->stack);
  reader.texts("service_path", &out->service_path);
  reader.hash("index", &out->index);
  reader.hash("parent", &out->parent);
  reader.hash("signature", &out->signature);
  reader.hash("connect_key", &out->connect_key);
  if (json.contains("stack_hash")) {  // without it (an older file) nothing is refused at connect
    reader.hash("stack_hash", &out->stack_hash);
    reader.number("number", &out->number);
    reader.number("service_number", &out->service_number);
  }
  if (json.contains("identity")) {  // without it (an older file) the RPC is not found after an edit
    reader.hash("identity", &out->stable.identity);
    reader.number("alike", &out->stable.alike);
  }
  if (reader.problem.empty() && out->index.is_zero()) reader.fail("index", "an index");
  return reader.problem;
}

Error invalid(const std::string& problem) {
  return Error{"counterexample: " + problem + "; run the exploration again to write it anew"};
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
               {"baseline", std::move(baseline)},
               {"attached", attached_rows(report.attached)},
               {"tests", std::move(tests)}});
}

std::string to_json(const Counterexample& counterexample) {
  Json faults = rows(counterexample.faults);
  redact_texts(&faults);
  return dump({{"version", kVersion},
               {"test", counterexample.test},
               {"config_path", counterexample.config_path},
               {"directory", counterexample.directory},
               {"verdict", counterexample.verdict},
               {"detail", redact(counterexample.detail)},
               {"index_parts", part_names(counterexample.index_parts)},
               {"nondeterminism", redacted_masks(counterexample.nondeterminism)},
               {"descriptors", to_base64(counterexample.descriptors)},
               {"ports", counterexample.ports},
               {"hang_limit_ms", counterexample.hang_limit_ms},
               {"faults", std::move(faults)},
               {"output", redact(counterexample.output)},
               {"seen", counterexample.seen},
               // A replay takes the redacted values from the configuration's file.
               {"config_text", redact_config(counterexample.config_text)}});
}

Result<Counterexample> parse_counterexample(std::string_view text) {
  if (is_nested_too_deep(text)) return invalid("it is nested too deep");
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return invalid("it is not valid JSON");
  if (!json.is_object()) return invalid("expected an object");
  const auto version = json.find("version");
  if (version == json.end() || !version->is_number_integer()) return invalid("it has no version");
  if (*version != kVersion) {
    return Error{"counterexample: it has version " + version->dump() + ", this program reads " +
                 std::to_string(kVersion) + "; use the program that wrote it"};
  }
  Counterexample out;
  CounterexampleReader reader{json, "counterexample", {}};
  reader.text("test", &out.test);
  reader.text("config_path", &out.config_path);
  reader.text("directory", &out.directory);
  reader.text("verdict", &out.verdict);
  reader.text("detail", &out.detail);
  reader.text("output", &out.output);
  if (json.contains("seen")) reader.texts("seen", &out.seen);
  reader.text("config_text", &out.config_text);
  reader.later_ports("ports", &out.ports);
  if (json.contains("hang_limit_ms")) reader.number("hang_limit_ms", &out.hang_limit_ms);
  std::string descriptors;
  reader.later_text("descriptors", &descriptors);
  if (auto bytes = from_base64(descriptors)) {
    out.descriptors = std::move(*bytes);
  } else {
    reader.fail("descriptors", "base64");
  }
  // For an older file, which has no masks, a replay uses those of the configuration.
  out.nondeterminism = json.contains("nondeterminism") ? json["nondeterminism"].dump() : "";
  if (json.contains("index_parts")) {
    std::vector<std::string> names;
    reader.texts("index_parts", &names);
    out.index_parts = 0;
    for (const PartRow& part : kParts) {
      if (std::find(names.begin(), names.end(), part.name) != names.end()) {
        out.index_parts |= part.bit;
      }
    }
  }
  if (!reader.problem.empty()) return invalid(reader.problem);
  const auto faults = json.find("faults");
  if (faults == json.end() || !faults->is_array()) return invalid("faults: expected a list");
  for (const Json& one : *faults) {
    out.faults.emplace_back();
    if (auto problem = read_fault(one, &out.faults.back()); !problem.empty()) {
      return invalid(problem);
    }
  }
  return out;
}

}  // namespace filibuster
