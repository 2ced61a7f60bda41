#include "daemon/report/call_site_text.h"

#include <algorithm>

namespace filibuster {
namespace {

constexpr std::string_view kUnnamed = "(anonymous namespace)";
constexpr std::string_view kOperator = "operator";

// The end of the operator's own signs, which begin at `at`.
size_t end_of_operator(std::string_view name, size_t at) {
  if (name.substr(at).starts_with("()")) return at + 2;
  return std::min(name.find_first_not_of("<>=-+*/%^&|~!,", at), name.size());
}

// The name as it is in the source. "": the brackets are not even.
std::string without_arguments(std::string_view name) {
  std::string out;
  int templates = 0;
  for (size_t at = 0; at < name.size();) {
    const std::string_view rest = name.substr(at);
    if (templates == 0 && rest.starts_with(kUnnamed)) {
      out += kUnnamed;
      at += kUnnamed.size();
    } else if (templates == 0 && rest.starts_with(kOperator)) {
      const size_t end = end_of_operator(name, at + kOperator.size());
      out += name.substr(at, end - at);
      at = end;
    } else if (name[at] == '<') {
      ++templates;
      ++at;
    } else if (name[at] == '>') {
      if (--templates < 0) return "";
      ++at;
    } else if (templates == 0 && name[at] == '(' && out.ends_with('.')) {
      return "";  // the receiver of a method in Go: main.(*Shop).order
    } else if (templates == 0 && name[at] == '(') {
      return out;  // the parameters, and what follows them
    } else {
      if (templates == 0) out += name[at];
      ++at;
    }
  }
  return "";  // other languages have no parameters in their names
}

// Between a caller and the frame that it reaches.
constexpr std::string_view kVia = ") via ";

}  // namespace

std::string call_site_text(std::string_view frame) {
  if (const size_t at = frame.find(kVia); at != frame.npos) {
    return call_site_text(frame.substr(0, at + 1)) + std::string(kVia.substr(1)) +
           call_site_text(frame.substr(at + kVia.size()));
  }
  const size_t begin = frame.find(" (");
  if (begin == frame.npos || !frame.ends_with(')')) return std::string(frame);
  const std::string_view name = frame.substr(begin + 2, frame.size() - begin - 3);
  const std::string shorter = without_arguments(name);
  if (shorter.empty()) return std::string(frame);
  return std::string(frame.substr(0, begin + 2)) + shorter + ")";
}

}  // namespace filibuster
