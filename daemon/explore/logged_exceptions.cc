#include "daemon/explore/logged_exceptions.h"

#include <algorithm>

#include "daemon/redact/redact.h"
#include "daemon/report/source_place.h"
#include "daemon/report/words.h"
#include "daemon/suite/failure.h"

namespace filibuster {
namespace {

constexpr size_t kMostOfService = 3;  // exceptions
constexpr size_t kMostMessage = 200;  // bytes
constexpr std::string_view kTraceback = "Traceback (most recent call last)";

// Python writes the tracebacks of one exception with a sentence between them, which is no beginning of another one.
std::vector<std::string_view> records_of(std::string_view text) {
  std::vector<std::string_view> out;
  size_t begin = 0;
  for (size_t at = text.find(kTraceback); at != text.npos; at = text.find(kTraceback, at + 1)) {
    size_t end = at;
    while (end > 0 && (text[end - 1] == '\n' || text[end - 1] == '\r')) --end;
    const size_t line = text.rfind('\n', end == 0 ? 0 : end - 1);
    const std::string_view before =
        text.substr(line == text.npos ? 0 : line + 1, end - (line == text.npos ? 0 : line + 1));
    if (before.find("The above exception was") != before.npos ||
        before.find("handling of the above exception") != before.npos)
      continue;
    if (at > begin) out.push_back(text.substr(begin, at - begin));
    begin = at;
  }
  out.push_back(text.substr(begin));
  return out;
}

bool same_place(const Place& a, const Place& b) {
  return a.line != 0 && a.line == b.line && (a.file.ends_with(b.file) || b.file.ends_with(a.file));
}

std::string telling_frame(const std::vector<std::string>& frames,
                          const std::vector<InjectedFault>& faults) {
  for (const InjectedFault& fault : faults) {
    for (const std::string& site : fault.stack) {
      const Place place = parse_place(site);
      const bool raised = std::any_of(frames.begin(), frames.end(), [&](const std::string& frame) {
        return same_place(parse_place(frame), place);
      });
      if (raised) return site;
    }
  }
  return frames.empty() ? "" : frames.front();
}

}  // namespace

std::vector<lint::LoggedException> logged_exceptions(const std::vector<ServiceWrote>& wrote,
                                                     const std::vector<InjectedFault>& faults) {
  std::vector<lint::LoggedException> out;
  for (const ServiceWrote& service : wrote) {
    if (std::none_of(faults.begin(), faults.end(),
                     [&](const InjectedFault& fault) { return fault.caller == service.name; }))
      continue;
    size_t taken = 0;
    for (const std::string_view record : records_of(service.text)) {
      const suite::Failure failure = suite::read_failure(record);
      if (failure.chain.empty() || failure.chain.front().frames.empty()) continue;
      const suite::Raised& raised = failure.chain.front();
      lint::LoggedException row{service.name, raised.type, cut(raised.message, kMostMessage),
                                telling_frame(raised.frames, faults)};
      const bool known = std::any_of(out.begin(), out.end(), [&](const auto& one) {
        return one.service == row.service && one.type == row.type && one.place == row.place;
      });
      if (known || ++taken > kMostOfService) continue;
      out.push_back(std::move(row));
    }
  }
  return out;
}

std::vector<std::string> to_lines(const std::vector<lint::LoggedException>& logged) {
  std::vector<std::string> out;
  for (const lint::LoggedException& one : logged) {
    out.push_back(redact(one.service + " logged " + one.type +
                         (one.message.empty() ? "" : ": " + one.message) + ", at " + one.place));
  }
  return out;
}

}  // namespace filibuster
