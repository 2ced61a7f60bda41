#include "daemon/suite/results.h"

#include <nlohmann/json.hpp>

#include "core/text/escapes.h"
#include "core/text/json_depth.h"

namespace filibuster::suite {
namespace {

using Json = nlohmann::json;

std::string text_of(const Json& object, const char* member) {
  const auto found = object.find(member);
  return found != object.end() && found->is_string() ? without_escapes(found->get<std::string>())
                                                     : "";
}

const Json& list_of(const Json& object, const char* member) {
  static const Json none = Json::array();
  const auto found = object.find(member);
  return found != object.end() && found->is_array() ? *found : none;
}

void set_failed(std::string stack, JunitCase* one) {
  one->result = CaseResult::kFailed;
  one->message = stack.substr(0, stack.find('\n'));
  one->stack = std::move(stack);
}

// A file whose tests could not begin, or whose hook failed, may have a message of its own and no case.
void read_file_of_tests(const Json& file, std::vector<JunitCase>* out) {
  const Json& cases = list_of(file, "assertionResults");
  for (const Json& read : cases) {
    if (!read.is_object()) continue;
    JunitCase one;
    one.name = text_of(read, "fullName");
    const std::string status = text_of(read, "status");
    if (status == "failed") {
      std::string stack;
      for (const Json& message : list_of(read, "failureMessages")) {
        if (message.is_string() && stack.empty())
          stack = without_escapes(message.get<std::string>());
      }
      set_failed(std::move(stack), &one);
    } else if (status != "passed") {
      one.result = CaseResult::kSkipped;
    }
    out->push_back(std::move(one));
  }
  if (!cases.empty() || text_of(file, "status") != "failed") return;
  JunitCase one;
  one.name = text_of(file, "name");
  set_failed(text_of(file, "message"), &one);
  out->push_back(std::move(one));
}

Result<std::vector<JunitCase>> parse_jest(std::string_view text) {
  if (is_nested_too_deep(text)) return Error{"it is nested too deep"};
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("testResults")) return Error{"it has no results of jest"};
  std::vector<JunitCase> out;
  for (const Json& file : list_of(json, "testResults")) {
    if (file.is_object()) read_file_of_tests(file, &out);
  }
  return out;
}

}  // namespace

Result<std::vector<JunitCase>> parse_results(std::string_view text) {
  return text.starts_with('{') ? parse_jest(text) : parse_junit(text);
}

}  // namespace filibuster::suite
