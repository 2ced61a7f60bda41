// lint.json (docs/lint.md). Credentials are redacted.
#include <nlohmann/json.hpp>

#include "core/index/execution_index.h"
#include "daemon/lint/lint.h"
#include "daemon/model/call_name.h"
#include "daemon/redact/redact.h"

namespace filibuster::lint {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr int kLintVersion = 1;

// "shop.CartService/GetCart"; "" if `call` is no gRPC call.
std::string grpc_name_of(const Call& call) {
  return grpc_name(call.method, call.target, call.protocol);
}

OrderedJson row(const Call& call) {
  const Place place = parse_place(call.place());
  return {{"caller", call.caller},
          {"service", call.service},
          {"method", call.method},
          {"path", call.target},
          {"protocol", protocol_name(call.protocol)},
          {"grpc", grpc_name_of(call)},
          {"call_site", call.place()},
          {"file", place.file},
          {"line", place.line},
          {"stack", call.stack},
          {"index", call.index.is_zero() ? "" : to_hex(call.index)}};
}

OrderedJson row(const CallSite& site) {
  OrderedJson out = row(site.first);
  out["rpcs"] = site.rpcs;
  out["timeout"] = site.timeout.empty() ? "not probed" : site.timeout;
  out["retries"] = site.retries ? OrderedJson(*site.retries) : OrderedJson(nullptr);
  return out;
}

OrderedJson row(const Finding& finding) {
  OrderedJson calls = OrderedJson::array();
  for (const Call& call : finding.calls) calls.push_back(row(call));
  return {{"lint", row_of(finding.lint).name},
          {"severity", severity_name(finding.severity)},
          {"text", finding.text},
          {"rpcs", std::move(calls)},
          {"replay", finding.replay}};
}

OrderedJson row(const TestLint& test) {
  OrderedJson sites = OrderedJson::array(), findings = OrderedJson::array(),
              not_probed = OrderedJson::array(), notes = OrderedJson::array();
  for (const CallSite& site : test.sites) sites.push_back(row(site));
  for (const Finding& finding : test.findings) findings.push_back(row(finding));
  for (const NotProbed& skipped : test.not_probed) {
    not_probed.push_back({{"call_site", skipped.call.place()},
                          {"caller", skipped.call.caller},
                          {"service", skipped.call.service},
                          {"method", skipped.call.method},
                          {"path", skipped.call.target},
                          {"protocol", protocol_name(skipped.call.protocol)},
                          {"grpc", grpc_name_of(skipped.call)},
                          {"what", skipped.what},
                          {"reason", skipped.reason}});
  }
  for (const std::string& note : test.notes) notes.push_back(note);
  return {{"test", test.test},
          {"finished", test.finished},
          {"rpcs", test.rpcs},
          {"probes", test.executions},
          {"seconds",
           {{"total", test.seconds},
            {"reference", test.reference_seconds},
            {"silence", test.silence_seconds}}},
          {"findings", std::move(findings)},
          {"call_sites", std::move(sites)},
          {"not_probed", std::move(not_probed)},
          {"notes", std::move(notes)}};
}

}  // namespace

std::string to_json(const Report& report) {
  OrderedJson known = OrderedJson::array(), tests = OrderedJson::array();
  for (const LintRow& lint : lints()) {
    known.push_back({{"id", lint.name},
                     {"severity", severity_name(lint.severity)},
                     {"summary", lint.summary},
                     {"help", lint.help}});
  }
  for (const TestLint& test : report.tests) tests.push_back(row(test));
  redact_texts(&tests);
  const OrderedJson json = {{"version", kLintVersion},       {"session", report.session},
                            {"config", report.config_path},  {"directory", report.directory},
                            {"exit_code", report.exit_code}, {"lints", std::move(known)},
                            {"tests", std::move(tests)}};
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace filibuster::lint
