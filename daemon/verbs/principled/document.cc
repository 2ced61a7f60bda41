#include "daemon/verbs/principled/document.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>
#include <sstream>

#include "core/version.h"
#include "daemon/redact/redact.h"
#include "daemon/report/plain_text.h"

namespace filibuster {
namespace {

using OrderedJson = nlohmann::ordered_json;
using principled::Diagnostic;

std::string safe(const std::string& text) {
  return redact(text);
}

OrderedJson fault_json(const principled::FaultedCall& fault) {
  return {{"service", fault.seen.call.service},
          {"method", safe(principled::method_text(fault.seen.call))},
          {"arguments",
           OrderedJson::parse(redact_object(fault.seen.call.arguments.dump(
                                  -1, ' ', false, nlohmann::json::error_handler_t::replace)),
                              nullptr, false)},
          {"fault", fault.seen.fault},
          {"call_site", safe(fault.rpc.call_site)},
          {"index", to_hex(fault.rpc.index)}};
}

OrderedJson diagnostic_json(const Diagnostic& diagnostic) {
  OrderedJson out = {{"kind", diagnostic_name(diagnostic.kind)},
                     {"text", safe(diagnostic.text)},
                     {"at", safe(diagnostic.at)},
                     {"trace", safe(diagnostic.trace)}};
  out["faults"] = OrderedJson::array();
  for (const auto& fault : diagnostic.faults) out["faults"].push_back(fault_json(fault));
  out["advice"] = advice_of(diagnostic);
  out["remedies"] = OrderedJson::array();
  for (const principled::Remedy& each : diagnostic.remedies)
    out["remedies"].push_back({{"title", safe(each.title)}, {"snippet", safe(each.snippet)}});
  return out;
}

OrderedJson execution_json(const PrincipledExecution& execution) {
  OrderedJson out = {{"number", execution.number},
                     {"name", safe(execution.name)},
                     {"passed", !execution.diagnostic},
                     {"ahead", execution.ahead},
                     {"seconds", execution.seconds},
                     {"outcome",
                      {{"thrown", execution.outcome.thrown},
                       {"code", execution.outcome.code},
                       {"message", safe(execution.outcome.message)}}}};
  out["faults"] = OrderedJson::array();
  for (const auto& fault : execution.faults) out["faults"].push_back(fault_json(fault));
  out["blocks"] = OrderedJson::array();
  for (const PrincipledBlock& block : execution.blocks) {
    OrderedJson calls = OrderedJson::array();
    for (const PrincipledBlock::Row& row : block.calls) {
      calls.push_back({{"call", safe(row.call)},
                       {"depth", row.depth},
                       {"ending", safe(row.ending)},
                       {"fault", row.fault},
                       {"arguments", safe(row.arguments)},
                       {"group", safe(row.group)}});
    }
    out["blocks"].push_back({{"block", block.name},
                             {"passed", block.passed},
                             {"seconds", block.seconds},
                             {"calls", std::move(calls)}});
  }
  out["diagnostic"] =
      execution.diagnostic ? diagnostic_json(*execution.diagnostic) : OrderedJson(nullptr);
  return out;
}

// "order_test.py:41" -> file and line.
std::pair<std::string, int> split_place(const std::string& at) {
  const size_t colon = at.rfind(':');
  if (colon == std::string::npos) return {at, 0};
  return {at.substr(0, colon), std::atoi(at.c_str() + colon + 1)};
}

std::string relative_to(const std::string& file, const std::string& folder) {
  return file.starts_with(folder + "/") ? file.substr(folder.size() + 1) : file;
}

OrderedJson sarif_result(const Diagnostic& diagnostic, const std::string& test,
                         const PrincipledResults& results) {
  std::string text = "test '" + test + "': " + diagnostic.text;
  OrderedJson out = {{"ruleId", diagnostic_name(diagnostic.kind)},
                     {"level", "error"},
                     {"message", {{"text", safe(text)}}}};
  auto [file, line] = split_place(diagnostic.at);
  // A statement of the configuration is named by the name of its file.
  if (file.empty() || !std::filesystem::path(file).is_absolute()) file = results.config_path;
  if (file.empty()) return out;
  OrderedJson location = {
      {"artifactLocation", {{"uri", relative_to(file, results.working_directory)}}}};
  if (line > 0) location["region"] = {{"startLine", line}};
  out["locations"] = OrderedJson::array({{{"physicalLocation", location}}});
  return out;
}

std::string summary_of(const PrincipledTest& test) {
  std::string out = "test '" + test.test + "': ";
  if (test.time_over && test.executions.empty()) return out + test.not_begun() + "\n";
  out += std::to_string(test.judged()) + (test.judged() == 1 ? " execution" : " executions");
  if (test.passed() && test.finished) return out + ", and all that is stated holds\n";
  if (test.time_over) return out + ", " + test.not_begun() + "\n";
  if (test.left > 0) out += ", " + std::to_string(test.left) + " known ones not run";
  return out + "\n";
}

}  // namespace

std::string principled_json(const PrincipledResults& results) {
  OrderedJson out = {{"version", 1},
                     {"session", results.session},
                     {"config", results.config_path},
                     {"exit_code", results.exit_code},
                     {"error", safe(results.error)}};
  out["tests"] = OrderedJson::array();
  for (const PrincipledTest& test : results.tests) {
    OrderedJson row = {{"test", safe(test.test)},   {"form", test.form},
                       {"service", test.service},   {"passed", test.passed()},
                       {"finished", test.finished}, {"time_over", test.time_over},
                       {"not_executed", test.left}, {"error", safe(test.error)}};
    row["executions"] = OrderedJson::array();
    for (const PrincipledExecution& each : test.executions)
      row["executions"].push_back(execution_json(each));
    row["diagnostics"] = OrderedJson::array();
    for (const Diagnostic& each : test.diagnostics)
      row["diagnostics"].push_back(diagnostic_json(each));
    row["methods"] = OrderedJson::array();
    for (const CoveredMethod& each : test.methods) {
      row["methods"].push_back({{"service", each.service},
                                {"method", safe(each.method)},
                                {"executions", each.executions},
                                {"outcomes", each.outcomes}});
    }
    row["notes"] = OrderedJson::array();
    for (const std::string& note : test.notes) row["notes"].push_back(safe(note));
    out["tests"].push_back(std::move(row));
  }
  out["diagnostics"] = OrderedJson::array();
  for (const Diagnostic& each : results.diagnostics)
    out["diagnostics"].push_back(diagnostic_json(each));
  return out.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

std::string principled_junit(const PrincipledResults& results) {
  pugi::xml_document document;
  pugi::xml_node suites = document.append_child("testsuites");
  const auto add = [](pugi::xml_node suite, const std::string& class_name, const std::string& name,
                      double seconds, const Diagnostic* diagnostic) {
    pugi::xml_node row = suite.append_child("testcase");
    row.append_attribute("classname").set_value(plain_text(safe(class_name)).c_str());
    row.append_attribute("name").set_value(plain_text(safe(name)).c_str());
    row.append_attribute("time").set_value(seconds);
    if (diagnostic == nullptr) return row;
    pugi::xml_node failure = row.append_child("failure");
    failure.append_attribute("type").set_value(
        std::string(diagnostic_name(diagnostic->kind)).c_str());
    failure.append_attribute("message").set_value(plain_text(safe(diagnostic->text)).c_str());
    failure.text().set(plain_text(safe(diagnostic_text(*diagnostic))).c_str());
    return row;
  };
  for (const PrincipledTest& test : results.tests) {
    pugi::xml_node suite = suites.append_child("testsuite");
    suite.append_attribute("name").set_value(plain_text(safe(test.test)).c_str());
    size_t tests = 0, failures = 0;
    for (const PrincipledExecution& each : test.executions) {
      if (each.ahead) continue;
      ++tests;
      failures += each.diagnostic ? 1 : 0;
      add(suite, test.test, each.name, each.seconds, each.diagnostic ? &*each.diagnostic : nullptr);
    }
    for (const Diagnostic& each : test.diagnostics) {
      ++tests;
      ++failures;
      add(suite, test.test, std::string(diagnostic_name(each.kind)) + " " + each.at, 0, &each);
    }
    if (test.time_over) {
      ++tests;
      add(suite, test.test, test.executions.empty() ? test.test : "further executions", 0, nullptr)
          .append_child("skipped")
          .append_attribute("message")
          .set_value(test.not_begun().c_str());
    }
    suite.append_attribute("tests").set_value(tests);
    suite.append_attribute("failures").set_value(failures);
    suite.append_attribute("skipped").set_value(test.time_over ? 1 : 0);
  }
  std::ostringstream out;
  document.save(out, "  ");
  return out.str();
}

std::string principled_sarif(const PrincipledResults& results) {
  OrderedJson rules = OrderedJson::array();
  for (const principled::DiagnosticRow& row : principled::diagnostic_kinds())
    rules.push_back({{"id", row.name}, {"shortDescription", {{"text", row.meaning}}}});
  OrderedJson found = OrderedJson::array();
  for (const PrincipledTest& test : results.tests) {
    for (const PrincipledExecution& each : test.executions) {
      if (each.diagnostic) found.push_back(sarif_result(*each.diagnostic, test.test, results));
    }
    for (const Diagnostic& each : test.diagnostics)
      found.push_back(sarif_result(each, test.test, results));
  }
  const OrderedJson driver = {
      {"name", "Filibuster"}, {"version", kVersion}, {"rules", std::move(rules)}};
  const OrderedJson out = {
      {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
      {"version", "2.1.0"},
      {"runs",
       OrderedJson::array({{{"tool", {{"driver", driver}}}, {"results", std::move(found)}}})}};
  return out.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

std::string principled_text(const PrincipledResults& results) {
  std::string out;
  for (const PrincipledTest& test : results.tests) {
    for (const PrincipledExecution& each : test.executions) {
      if (!each.diagnostic) continue;
      out += "execution " + std::to_string(each.number) + " (" + each.name + ")\n" +
             diagnostic_text(*each.diagnostic) + "\n";
    }
    for (const Diagnostic& each : test.diagnostics) out += diagnostic_text(each) + "\n";
    out += summary_of(test);
    if (!test.error.empty()) out += "  it could not go on: " + test.error + "\n";
    for (const CoveredMethod& each : test.methods) {
      std::string outcomes;
      for (const std::string& outcome : each.outcomes)
        outcomes += (outcomes.empty() ? "" : ", ") + outcome;
      if (outcomes.empty()) outcomes = "never called";
      out += "  " + each.method + " of '" + each.service + "': " + outcomes + "\n";
    }
    for (const std::string& note : test.notes) out += "  note: " + note + "\n";
  }
  for (const Diagnostic& each : results.diagnostics) out += diagnostic_text(each) + "\n";
  return safe(out);
}

}  // namespace filibuster
