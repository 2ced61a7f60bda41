#include "daemon/suite/junit_xml.h"

#include <cstring>
#include <pugixml.hpp>

#include "core/text/escapes.h"

namespace filibuster::suite {
namespace {

constexpr int kDeepest = 100;  // suites within suites

void read_case(const pugi::xml_node& node, std::vector<JunitCase>* out) {
  JunitCase read;
  read.group = node.attribute("classname").value();
  read.name = node.attribute("name").value();
  for (const pugi::xml_node& child : node.children()) {
    const std::string_view name = child.name();
    const bool failed = name == "failure" || name == "error";
    if (!failed && name != "skipped") continue;
    // A test may fail twice (again in its teardown): the first failure is kept.
    if (read.result == CaseResult::kFailed) continue;
    read.result = failed ? CaseResult::kFailed : CaseResult::kSkipped;
    read.message = without_escapes(child.attribute("message").value());
    read.stack = without_escapes(child.text().get());
    // JUnit's own files have the reason of a skip as text.
    if (!failed && read.message.empty()) read.message = read.stack.substr(0, read.stack.find('\n'));
  }
  // GoogleTest marks a test that its filter left out with this status.
  if (std::strcmp(node.attribute("status").value(), "notrun") == 0)
    read.result = CaseResult::kSkipped;
  out->push_back(std::move(read));
}

void read_suites(const pugi::xml_node& node, int depth, std::vector<JunitCase>* out) {
  if (depth > kDeepest) return;
  for (const pugi::xml_node& child : node.children()) {
    if (std::strcmp(child.name(), "testcase") == 0) {
      read_case(child, out);
    } else if (std::strcmp(child.name(), "testsuite") == 0) {
      read_suites(child, depth + 1, out);
    }
  }
}

}  // namespace

Result<std::vector<JunitCase>> parse_junit(std::string_view xml) {
  pugi::xml_document document;
  const auto parsed = document.load_buffer(xml.data(), xml.size());
  if (!parsed) return Error{std::string("it is no XML: ") + parsed.description()};
  const pugi::xml_node root = document.document_element();
  const std::string_view name = root.name();
  if (name != "testsuites" && name != "testsuite") return Error{"it has no test suite"};
  std::vector<JunitCase> out;
  read_suites(root, 0, &out);
  return out;
}

std::string failed_cases_text(const std::vector<JunitCase>& cases, std::string_view printed) {
  std::string out;
  for (const JunitCase& one : cases) {
    if (one.result != CaseResult::kFailed) continue;
    const std::string& said = one.message.empty() ? one.stack : one.message;
    const std::string_view first = std::string_view(said).substr(0, said.find('\n'));
    if (!first.empty() && printed.find(first) != std::string_view::npos) continue;
    out += std::string(kResultOf) + (one.group.empty() ? "" : one.group + ".") + one.name +
           std::string(kResultEnd) + "\n";
    // Most runners begin the stack with the message.
    if (one.stack.find(one.message) == std::string::npos) out += one.message + "\n";
    out += one.stack + (one.stack.empty() || one.stack.ends_with('\n') ? "" : "\n");
  }
  return out;
}

}  // namespace filibuster::suite
