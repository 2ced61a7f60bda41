// JUnit XML. The format has no standard: this writes what Jenkins, GitLab, GitHub's actions and
// JUnit's own reporter agree on. Servers know a case again by its class name and its name.
#include <cstdio>
#include <pugixml.hpp>
#include <set>
#include <sstream>

#include "daemon/redact/redact.h"
#include "daemon/report/finding_text.h"
#include "daemon/report/plain_text.h"
#include "daemon/report/results.h"
#include "daemon/report/source_place.h"
#include "daemon/report/tested.h"
#include "daemon/report/unexplained.h"
#include "daemon/report/words.h"

namespace filibuster {
namespace {

// Why a case has not passed. An empty kind: it has passed.
struct Outcome {
  enum class Kind : uint8_t { kPassed, kFailure, kError, kSkipped } kind = Kind::kPassed;
  std::string type, message, text;
};

struct Totals {
  uint64_t tests = 0, failures = 0, errors = 0, skipped = 0;
  void add(const Totals& other) {
    tests += other.tests;
    failures += other.failures;
    errors += other.errors;
    skipped += other.skipped;
  }
};

std::string shown(const std::string& text) {
  return plain_text(redact(text));
}

std::string seconds(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", value);
  return text;
}

void set(pugi::xml_node node, const char* name, const std::string& value) {
  node.append_attribute(name).set_value(value.c_str());
}

void set_totals(pugi::xml_node node, const Totals& totals, double time) {
  set(node, "tests", std::to_string(totals.tests));
  set(node, "failures", std::to_string(totals.failures));
  set(node, "errors", std::to_string(totals.errors));
  set(node, "skipped", std::to_string(totals.skipped));
  set(node, "time", seconds(time));
}

class Suite {
 public:
  Suite(pugi::xml_node parent, const std::string& name)
      : name_(one_line(redact(name))), node_(parent.append_child("testsuite")) {
    set(node_, "name", name_);
  }

  pugi::xml_node add(const std::string& name, double time, const Outcome& outcome) {
    pugi::xml_node node = node_.append_child("testcase");
    set(node, "classname", name_);
    set(node, "name", one_line(redact(name)));
    set(node, "time", seconds(time));
    ++totals_.tests;
    const char* element = nullptr;
    switch (outcome.kind) {
      case Outcome::Kind::kPassed:
        return node;
      case Outcome::Kind::kFailure:
        ++totals_.failures;
        element = "failure";
        break;
      case Outcome::Kind::kError:
        ++totals_.errors;
        element = "error";
        break;
      case Outcome::Kind::kSkipped:
        ++totals_.skipped;
        element = "skipped";
        break;
    }
    pugi::xml_node why = node.append_child(element);
    if (!outcome.type.empty()) set(why, "type", outcome.type);
    set(why, "message", one_line(redact(outcome.message)));
    if (!outcome.text.empty()) why.text().set(shown(outcome.text).c_str());
    return node;
  }

  Totals end(double time) {
    set_totals(node_, totals_, time);
    return totals_;
  }

 private:
  std::string name_;
  pugi::xml_node node_;
  Totals totals_;
};

void set_place(pugi::xml_node node, const std::string& call_site, const std::string& directory) {
  const Place place = parse_place(call_site);
  if (place.file.empty()) return;
  const std::string below = directory.empty() ? "" : directory + "/";
  const bool is_below = !below.empty() && place.file.starts_with(below);
  set(node, "file", plain_text(is_below ? place.file.substr(below.size()) : place.file));
  set(node, "line", std::to_string(place.line));
}

using Findings = std::map<std::string, const Finding*>;  // by id

Outcome outcome_of(const Finding& finding) {
  Outcome out{Outcome::Kind::kFailure, std::string(verdict_name(finding.minimal_execution.verdict)),
              to_line(finding), to_text(finding)};
  if (finding.standing == Standing::kNew) return out;
  out.message = standing_text(finding) + " | " + out.message;
  if (finding.fails()) return out;
  out.kind = Outcome::Kind::kSkipped;
  out.type = "accepted";
  return out;
}

// A fault that fails only together with others: its case refers to the cases of these findings.
Outcome outcome_of(const std::vector<std::string>& ids, const Findings& findings) {
  Outcome out{Outcome::Kind::kSkipped, "accepted", "it fails only together with other faults:", ""};
  for (const std::string& id : ids) {
    out.message += " " + id;
    const auto finding = findings.find(id);
    if (finding == findings.end() || !finding->second->fails()) continue;
    out.kind = Outcome::Kind::kFailure;
    out.type = "together";
  }
  return out;
}

Outcome outcome_of(const FaultCase& row, const Findings& findings) {
  switch (row.state) {
    case CaseState::kPassed:
      return {};
    case CaseState::kFailed: {
      const auto alone = findings.find(row.id);
      return alone != findings.end() ? outcome_of(*alone->second)
                                     : outcome_of(row.findings, findings);
    }
    case CaseState::kInconclusive:
      return {Outcome::Kind::kError, "no conclusion", row.reason, ""};
    case CaseState::kSkipped:
      return {Outcome::Kind::kSkipped, "not judged", row.reason, ""};
  }
  return {};
}

// "a -> b GET /x at a.py f: refused + ...", as cases are named.
std::string name_of(const Finding& finding, const std::map<std::string, const FaultCase*>& cases) {
  std::string out;
  for (const InjectedFault& fault : finding.minimal) {
    const auto known = cases.find(finding_id(finding.minimal_execution.test, {fault}));
    out +=
        (out.empty() ? "" : " + ") +
        (known != cases.end() ? known->second->name : call_text(fault, " ") + ": " + fault.fault);
  }
  return out.empty() ? "without any fault" : out;
}

std::string with_id(const std::string& name, const std::string& id) {
  return name + " [" + id + "]";
}

void add_cases(const SessionReport& report, const TestReport& test, Suite* suite) {
  Findings findings;
  for (const Finding& finding : test.findings) findings.emplace(finding.id, &finding);
  std::map<std::string, const FaultCase*> cases;
  for (const FaultCase& row : test.cases) {
    cases.emplace(row.id, &row);
    pugi::xml_node node =
        suite->add(with_id(row.name, row.id), row.seconds, outcome_of(row, findings));
    set_place(node, row.call_site, report.working_directory);
  }
  for (const Finding& finding : test.findings) {
    const auto known = cases.find(finding.id);
    if (known != cases.end() && known->second->state == CaseState::kFailed) continue;
    pugi::xml_node node = suite->add(with_id(name_of(finding, cases), finding.id),
                                     finding.minimal_execution.seconds, outcome_of(finding));
    if (!finding.minimal.empty())
      set_place(node, finding.minimal.back().call_site, report.working_directory);
  }
  for (const auto& [rpc, reason] : test.rpcs.untested) {
    // What cannot be tested (its cause is not known) is no error: another run would not change it.
    const bool another_run_may_help = reason == kInterruptedBefore || reason == kNoConclusionThere;
    const auto kind = another_run_may_help && !report.allow_untested ? Outcome::Kind::kError
                                                                     : Outcome::Kind::kSkipped;
    suite->add(rpc + " is tested", 0, {kind, "not tested", reason, ""});
  }
  for (const std::string& rpc : test.rpcs.by_configuration) {
    const std::string why = test.rpcs.by_bound.contains(rpc)
                                ? "not reached within the time or the bounds"
                                : "left out by the configuration";
    suite->add(rpc + " is tested", 0, {Outcome::Kind::kSkipped, "not tested", why, ""});
  }
}

void add_test(const SessionReport& report, const TestReport& test, pugi::xml_node root,
              Totals* totals) {
  Suite suite(root, test.test);
  Outcome reference;
  if (!test.error.empty()) {
    reference = {Outcome::Kind::kError, "not explored", test.error.substr(0, test.error.find('\n')),
                 test.error};
  } else if (test.counts.executed == 0) {
    reference = {Outcome::Kind::kSkipped, "not executed", "the session ended before", ""};
  }
  suite.add("without faults", test.reference_seconds, reference);
  Outcome conclusions;
  if (test.counts.executed == 0) {
    conclusions = {Outcome::Kind::kSkipped, "not executed", "nothing was executed", ""};
  } else if (test.counts.abandoned > 0) {
    conclusions = {
        Outcome::Kind::kError, "no conclusion",
        counted(test.counts.abandoned, "execution allows", "executions allow") + " no conclusion",
        ""};
    for (const Unexplained& group : test.unexplained) conclusions.text += to_line(group) + "\n";
  }
  suite.add("every execution allows a conclusion", 0, conclusions);
  add_cases(report, test, &suite);
  totals->add(suite.end(test.seconds));
}

}  // namespace

std::string to_junit(const SessionReport& report) {
  pugi::xml_document document;
  pugi::xml_node declaration = document.append_child(pugi::node_declaration);
  set(declaration, "version", "1.0");
  set(declaration, "encoding", "UTF-8");
  pugi::xml_node root = document.append_child("testsuites");
  set(root, "name", "filibuster");
  Totals totals;
  double time = 0;
  bool told = false;
  for (const TestReport& test : report.tests) {
    add_test(report, test, root, &totals);
    time += test.seconds;
    told = told || !test.error.empty();
  }
  if (!report.error.empty() && !told) {
    Suite suite(root, "session");
    suite.add("the session", 0,
              {Outcome::Kind::kError, "environment",
               report.error.substr(0, report.error.find('\n')), report.error});
    totals.add(suite.end(0));
  }
  set_totals(root, totals, time);
  std::ostringstream out;
  document.save(out, "  ", pugi::format_default, pugi::encoding_utf8);
  return std::move(out).str();
}

}  // namespace filibuster
