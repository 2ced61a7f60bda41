// Finds functions and types that take a status, and calls that pass on the status of another service.
#include <algorithm>
#include <array>

#include "cli/analysis/choices.h"
#include "cli/analysis/patterns.h"

namespace filibuster::analysis {
namespace {

// The name of an argument or a parameter: "status" in `int status`, `status = 200`, `status: int`.
std::string_view parameter_name(const Source& source, const Span& span) {
  uint32_t end = span.begin;
  while (end < span.end && !source.tokens[end].is("=") && !source.tokens[end].is(":")) ++end;
  if (end == span.begin || !source.tokens[end - 1].word()) {
    return "";
  }
  if (source.language == Language::kGo) return source.tokens[span.begin].text;  // `code int`
  return source.tokens[end - 1].text;
}

}  // namespace

void collect_status_takers(const Source& source, StatusTakers* out) {
  const Definition* enclosing = nullptr;
  for (const Definition& one : source.definitions) {
    if (one.is_class) enclosing = &one;
    if (source.language == Language::kCpp && one.is_class) {
      // struct Answer { int status = 200; ...
      const uint32_t end = std::min<uint32_t>(one.body + 6, one.end);
      for (uint32_t i = one.body; i + 1 < end; ++i) {
        const Token& next = source.tokens[i + 1];
        if (!next.is(";") && !next.is("=") && !next.is("{")) continue;
        if (i > one.body && source.tokens[i].word() && names_status(source.tokens[i].text)) {
          out->aggregates = true;
          out->takers.insert({std::string(one.name), 0});
        }
        break;
      }
    }
    if (one.parameters == 0) continue;
    std::string name(one.name);
    const bool inside = enclosing != nullptr && one.begin < enclosing->end;
    if ((name == "constructor" || name == "__init__") && inside) name = enclosing->name;
    uint32_t shift = 0;
    const std::vector<Span> parameters = arguments_of(source, one.parameters - 1);
    if (source.language == Language::kPython && !parameters.empty() &&
        (source.is(parameters[0].begin, "self") || source.is(parameters[0].begin, "cls")))
      shift = 1;
    for (uint32_t i = shift; i < parameters.size(); ++i) {
      if (names_status(parameter_name(source, parameters[i])))
        out->takers.insert({name, i - shift});
    }
  }
}

std::vector<uint32_t> find_passed_on(const Source& source, const StatusTakers& takers) {
  std::vector<uint32_t> out;
  const auto member_status = [&](const Span& span) {
    uint32_t end = span.end;
    if (span.size() >= 5 && source.is(end - 1, ")") && source.is(end - 2, "(")) end -= 2;
    // A member named `code` is often something other than a status.
    const std::string_view name = source.token(end - 1).text;
    if (end < span.begin + 3 || !names_status(name) || name == "code") return false;
    return source.is(end - 2, ".") || source.is(end - 2, "?.") || source.is(end - 2, "->");
  };
  const auto passes_on = [&](const Span& expression) {
    const std::vector<Span> choices = choices_of(source, expression);
    return std::any_of(choices.begin(), choices.end(), member_status);
  };
  constexpr std::array<std::string_view, 10> kAnswering = {
      "abort",     "status",      "sendStatus", "writeHead", "WriteHeader",
      "sendError", "createError", "set_status", "Status",    "send_response"};
  const auto count = static_cast<uint32_t>(source.tokens.size());
  for (uint32_t i = 0; i + 1 < count; ++i) {
    const Token& token = source.tokens[i];
    if (source.language == Language::kPython && token.is("return")) {
      for (const Span& tuple : tuples_returned(source, i)) {
        const std::vector<Span> elements = elements_of(source, tuple);
        if (elements.size() > 1 && passes_on(elements[1])) out.push_back(i);
      }
    }
    if (!token.word() || !source.is(i + 1, "(")) continue;
    const std::vector<Span> arguments = arguments_of(source, i + 1);
    const bool known =
        std::find(kAnswering.begin(), kAnswering.end(), token.text) != kAnswering.end();
    for (uint32_t n = 0; n < arguments.size(); ++n) {
      const bool taken = (known && n == 0) || takers.takers.contains({std::string(token.text), n});
      if (taken && passes_on(arguments[n])) out.push_back(i);
    }
  }
  return out;
}

}  // namespace filibuster::analysis
