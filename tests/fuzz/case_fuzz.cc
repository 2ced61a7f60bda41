// A byte that says what the file is, then the file. Whatever it is, each error has a place in it.
// What has no error is written, sealed, and read again as the same, and a replay of it that does
// what was recorded passes.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/cases/case_file.h"
#include "daemon/cases/difference.h"
#include "daemon/cases/set_file.h"

using namespace filibuster;
using namespace filibuster::cases;

namespace {

void demand(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", what);
  std::abort();
}

std::optional<std::string> any_body(const std::string& name) {
  return name.size() % 2 == 0 ? std::optional<std::string>("\xff") : std::nullopt;
}

ReadBeside files_of(const WrittenFile& file) {
  return [&file](const std::string& name) -> std::optional<std::string> {
    for (const auto& [each, bytes] : file.beside) {
      if (each == name) return bytes;
    }
    return std::nullopt;
  };
}

void check_errors(const std::vector<ConfigError>& errors) {
  for (const ConfigError& each : errors)
    demand(each.line >= 1 && each.column >= 1 && !each.message.empty(), "an error has a place");
}

// Every call comes behind those that it waits for, so that recorded behaviour passes.
void check_replay(const Case& of, const Rules& rules) {
  Matcher matcher(&rules, nullptr);
  matcher.begin(&of);
  for (const Call& call : of.calls) {
    const Cause cause = call.cause_known ? Cause::kCase : Cause::kNone;
    const Decision decision = matcher.arrive({call.input, call.site, cause});
    matcher.answered(decision.arrival);
    // An attempt that is asked for before the first one is none that was recorded.
    if (decision.answer == nullptr) return;
  }
  demand(judge(of, matcher, {"", of.answer}, rules, {}).judged == Judged::kPassed,
         "what was recorded passes");
}

void check_case(std::string_view text, Seal seal) {
  const ReadCase read = read_case(text, "cases/x.json", any_body, seal);
  check_errors(read.errors);
  if (!read.errors.empty()) return;
  const WrittenFile file = write_case(read.value, "9a1c");
  const ReadCase again = read_case(file.text, "cases/x.json", files_of(file));
  demand(again.errors.empty(), "what is written is good");
  demand(again.value == read.value, "what is written is read as the same");
  demand(write_case(again.value, "9a1c").text == file.text, "the same bytes");
  check_replay(read.value, {read.value.service, {"content-type"}, {}});
}

void check_process(std::string_view text) {
  const ReadProcess read = read_process(text, "process.json", any_body, Seal::kIgnored);
  check_errors(read.errors);
  if (!read.errors.empty()) return;
  const WrittenFile file = write_process(read.value);
  const ReadProcess again = read_process(file.text, "process.json", files_of(file));
  demand(again.errors.empty() && again.value == read.value, "what is written is the same");
}

void check_set(std::string_view text) {
  const ReadSet read = read_set(text, "set.json");
  check_errors(read.errors);
  if (!read.errors.empty()) return;
  const std::string written = write_set(read.value);
  const ReadSet again = read_set(written, "set.json");
  demand(again.errors.empty() && write_set(again.value) == written, "a set is the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      check_case(text, Seal::kIgnored);
      break;
    case 1:
      check_case(text, Seal::kChecked);
      break;
    case 2:
      check_process(text);
      break;
    default:
      check_set(text);
  }
  return 0;
}
