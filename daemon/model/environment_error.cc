#include "daemon/model/environment_error.h"

#include <utility>

namespace filibuster {
namespace {

constexpr std::string_view kRemedy = "\nwhat to do: ";

}  // namespace

Error with_remedy(std::string what, std::string_view remedy) {
  while (what.ends_with('\n')) what.pop_back();
  if (!remedy.empty()) what += std::string(kRemedy) + std::string(remedy);
  return Error{std::move(what)};
}

EnvironmentError parse_environment_error(std::string_view text) {
  EnvironmentError out;
  while (text.ends_with('\n')) text.remove_suffix(1);
  // It is the last line: what a program wrote before may look like one.
  const size_t remedy = text.rfind(kRemedy);
  if (remedy != std::string_view::npos &&
      text.find('\n', remedy + kRemedy.size()) == std::string_view::npos) {
    out.remedy = text.substr(remedy + kRemedy.size());
    text = text.substr(0, remedy);
  }
  const size_t first = text.find('\n');
  out.what = text.substr(0, first);
  if (first == std::string_view::npos) return out;
  const std::string_view rest = text.substr(first + 1);
  const size_t second = rest.find('\n');
  const std::string_view title = rest.substr(0, second);
  // "(its log ... is empty)" is a remark, and has no lines.
  const bool titled = title.ends_with(':') || title.starts_with('(');
  if (!titled) {
    out.lines = rest;
    return out;
  }
  out.title = title;
  if (second != std::string_view::npos) out.lines = rest.substr(second + 1);
  return out;
}

std::vector<EnvironmentError> environment_errors(const SessionReport& report) {
  std::vector<EnvironmentError> out;
  for (const TestReport& test : report.tests) {
    if (test.error.empty()) continue;
    out.push_back(parse_environment_error(test.error));
    out.back().test = test.test;
  }
  // With several tests the session's error only counts those.
  if (out.empty() && !report.error.empty()) out.push_back(parse_environment_error(report.error));
  return out;
}

}  // namespace filibuster
