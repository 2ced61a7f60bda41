#include "daemon/verbs/verify/results.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>
#include <sstream>

#include "core/version.h"
#include "daemon/redact/redact.h"
#include "daemon/report/plain_text.h"

namespace filibuster {
namespace {

using Json = nlohmann::ordered_json;
using cases::Difference;
using cases::DifferenceKind;
using cases::Judged;

struct KindRow {
  DifferenceKind kind;
  const char* meaning;
};
constexpr KindRow kKinds[] = {
    {DifferenceKind::kOrder, "A call came before the answer that it waited for in the recording"},
    {DifferenceKind::kInput, "A recorded call brings something else"},
    {DifferenceKind::kMissing, "A recorded call did not come"},
    {DifferenceKind::kExtra, "A call came that is not recorded"},
    {DifferenceKind::kAnswer, "The calls are the same, and the answer is another"},
};

std::string printed(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string word_of(Judged judged) {
  return judged == Judged::kPassed    ? "passed"
         : judged == Judged::kDiffers ? "differs"
                                      : "no conclusion";
}

std::string relative_to(const std::string& file, const std::string& folder) {
  return file.starts_with(folder + "/") ? file.substr(folder.size() + 1) : file;
}

Json difference_json(const Difference& of) {
  Json out = {{"kind", cases::difference_name(of.kind)},
              {"text", redact(of.text)},
              {"call", of.call ? Json(*of.call) : Json()},
              {"line", of.line},
              {"fields", Json::array()}};
  for (const cases::FieldDifference& each : of.fields)
    out["fields"].push_back(
        {{"at", each.pointer}, {"recorded", redact(each.recorded)}, {"now", redact(each.now)}});
  return out;
}

// What stands behind the name of a case that did not pass.
std::string first_text(const VerifiedCase& of) {
  if (of.verdict.judged == Judged::kNoConclusion) return redact(of.verdict.why);
  return of.verdict.differences.empty() ? "" : redact(of.verdict.differences.front().text);
}

std::string counts_text(const VerifyResults& results) {
  const auto counted = [](size_t number, const char* what) {
    return std::to_string(number) + what;
  };
  std::string out = std::to_string(results.cases.size()) +
                    (results.cases.size() == 1 ? " case: " : " cases: ") +
                    counted(results.count(Judged::kPassed), " passed");
  if (const size_t differ = results.count(Judged::kDiffers); differ > 0)
    out += ", " + counted(differ, differ == 1 ? " differs" : " differ");
  const auto accepted = std::count_if(results.cases.begin(), results.cases.end(),
                                      [](const VerifiedCase& each) { return each.updated; });
  if (accepted > 0)
    out += ", " + std::to_string(accepted) + (accepted == 1 ? " is accepted" : " are accepted");
  if (const size_t open = results.count(Judged::kNoConclusion); open > 0)
    out += ", " + counted(open, " without a conclusion");
  if (results.cases.size() < results.all)
    out += ", " + counted(results.all - results.cases.size(), " not begun");
  return out;
}

}  // namespace

size_t VerifyResults::count(Judged judged) const {
  return static_cast<size_t>(
      std::count_if(cases.begin(), cases.end(),
                    [&](const VerifiedCase& each) { return each.verdict.judged == judged; }));
}

Judged VerifyResults::judged() const {
  std::vector<cases::Verdict> verdicts;
  for (const VerifiedCase& each : cases) verdicts.push_back(each.verdict);
  const Judged out = cases::judge_set(verdicts);
  return out == Judged::kPassed && !process_misses.empty() ? Judged::kNoConclusion : out;
}

std::string verify_json(const VerifyResults& results) {
  Json out = {{"version", 1},
              {"session", results.session},
              {"config", results.config_path},
              {"cases_folder", results.folder},
              {"service", results.service},
              {"exit_code", results.exit_code},
              {"error", redact(results.error)},
              {"judged", word_of(results.judged())},
              {"all", results.all},
              {"cases", Json::array()},
              {"process_misses", Json::array()},
              {"notes", Json::array()}};
  for (const VerifiedCase& each : results.cases) {
    Json differences = Json::array();
    for (const Difference& one : each.verdict.differences)
      differences.push_back(difference_json(one));
    out["cases"].push_back({{"name", each.name},
                            {"file", each.file},
                            {"route", each.route},
                            {"judged", word_of(each.verdict.judged)},
                            {"why", redact(each.verdict.why)},
                            {"recorded", each.verdict.recorded},
                            {"served", each.verdict.served},
                            {"seconds", each.seconds},
                            {"updated", each.updated},
                            {"not_updated", each.not_updated},
                            {"differences", std::move(differences)},
                            {"output", redact(each.output)}});
  }
  for (const std::string& miss : results.process_misses)
    out["process_misses"].push_back(redact(miss));
  for (const std::string& note : results.notes) out["notes"].push_back(redact(note));
  return printed(out, 2) + "\n";
}

std::string verify_junit(const VerifyResults& results) {
  pugi::xml_document document;
  pugi::xml_node suite = document.append_child("testsuites").append_child("testsuite");
  suite.append_attribute("name").set_value(plain_text(results.service).c_str());
  suite.append_attribute("tests").set_value(results.cases.size());
  suite.append_attribute("failures").set_value(results.count(Judged::kDiffers));
  suite.append_attribute("errors").set_value(results.count(Judged::kNoConclusion));
  for (const VerifiedCase& each : results.cases) {
    pugi::xml_node row = suite.append_child("testcase");
    row.append_attribute("classname").set_value(plain_text(each.route).c_str());
    row.append_attribute("name").set_value(plain_text(each.name).c_str());
    row.append_attribute("time").set_value(each.seconds);
    if (each.verdict.judged == Judged::kPassed) continue;
    const bool differs = each.verdict.judged == Judged::kDiffers;
    pugi::xml_node failure = row.append_child(differs ? "failure" : "error");
    failure.append_attribute("type").set_value(
        differs && !each.verdict.differences.empty()
            ? std::string(cases::difference_name(each.verdict.differences.front().kind)).c_str()
            : "no conclusion");
    failure.append_attribute("message").set_value(plain_text(first_text(each)).c_str());
    std::string text;
    for (const Difference& one : each.verdict.differences) text += redact(one.text) + "\n";
    failure.text().set(plain_text(text + each.file).c_str());
  }
  std::ostringstream out;
  document.save(out, "  ");
  return out.str();
}

std::string verify_sarif(const VerifyResults& results) {
  Json rules = Json::array(), found = Json::array();
  for (const KindRow& row : kKinds)
    rules.push_back(
        {{"id", cases::difference_name(row.kind)}, {"shortDescription", {{"text", row.meaning}}}});
  for (const VerifiedCase& each : results.cases) {
    if (each.verdict.judged != Judged::kDiffers || each.verdict.differences.empty()) continue;
    const Difference& first = each.verdict.differences.front();
    Json location = {
        {"artifactLocation", {{"uri", relative_to(each.file, results.working_directory)}}}};
    if (first.line > 0) location["region"] = {{"startLine", first.line}};
    found.push_back({{"ruleId", cases::difference_name(first.kind)},
                     {"level", "error"},
                     {"message", {{"text", each.route + ": " + redact(first.text)}}},
                     {"locations", Json::array({{{"physicalLocation", std::move(location)}}})}});
  }
  const Json driver = {{"name", "Filibuster"}, {"version", kVersion}, {"rules", std::move(rules)}};
  return printed({{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                  {"version", "2.1.0"},
                  {"runs",
                   Json::array({{{"tool", {{"driver", driver}}}, {"results", std::move(found)}}})}},
                 2) +
         "\n";
}

std::string verify_markdown(const VerifyResults& results) {
  std::string out =
      "## Recorded cases of `" + results.service + "`\n\n" + counts_text(results) + "\n";
  std::string rows;
  for (const VerifiedCase& each : results.cases) {
    if (each.verdict.judged == Judged::kPassed) continue;
    std::string text = plain_text(first_text(each));
    std::replace(text.begin(), text.end(), '|', '/');
    rows += "| `" + each.route + "` | `" + each.name + "` | " + word_of(each.verdict.judged) +
            " | " + text + " |\n";
  }
  if (!rows.empty()) out += "\n| route | case | | |\n|---|---|---|---|\n" + rows;
  return out;
}

std::string verify_text(const VerifyResults& results) {
  std::string out;
  for (const VerifiedCase& each : results.cases) {
    if (each.verdict.judged == Judged::kPassed) continue;
    const bool differs = each.verdict.judged == Judged::kDiffers;
    out += (differs ? "\u2717 " : "? ") + each.route + "  (" +
           relative_to(each.file, results.working_directory) + ")\n";
    if (!differs) out += "    no conclusion: " + redact(each.verdict.why) + "\n";
    for (size_t i = 0; i < each.verdict.differences.size(); ++i) {
      const Difference& one = each.verdict.differences[i];
      out += std::string(i == 0   ? "    "
                         : i == 1 ? "    afterwards: "
                                  : "                ") +
             std::string(cases::difference_name(one.kind)) + ": " + redact(one.text) + "\n";
    }
    if (each.updated) out += "    accepted: the file has it now\n";
    if (!each.not_updated.empty()) out += "    not accepted: " + each.not_updated + "\n";
  }
  for (const std::string& miss : results.process_misses)
    out +=
        "? no conclusion: by itself (at its start, or in a loop) the service made a call that is "
        "not recorded: " +
        redact(miss) + "\n";
  for (const std::string& note : results.notes) out += "note: " + redact(note) + "\n";
  if (results.all == 0 && results.error.empty()) {
    out += "no conclusion: there is no case to replay in " + results.folder + "\n";
  } else {
    out += counts_text(results) + "\n";
  }
  if (!results.cases.empty() && results.count(Judged::kDiffers) == 0 &&
      results.count(Judged::kNoConclusion) == 0 && results.process_misses.empty() &&
      results.judged() == Judged::kNoConclusion)
    out += "nothing was shown: no case has had a call of the service answered\n";
  if (!results.error.empty()) out += "it could not go on: " + redact(results.error) + "\n";
  return out;
}

}  // namespace filibuster
