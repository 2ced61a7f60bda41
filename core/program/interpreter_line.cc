#include "core/program/interpreter_line.h"

namespace filibuster {
namespace {

constexpr size_t kMostLine = 256;  // bytes that the kernel looks at (BINPRM_BUF_SIZE)
constexpr std::string_view kSpace = " \t\n\v\f\r";

// Letters and digits are those of the C locale, whatever locale the program has set.
bool is_name_character(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

}  // namespace

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> out;
  for (size_t begin = text.find_first_not_of(kSpace); begin != std::string_view::npos;) {
    const size_t end = text.find_first_of(kSpace, begin);
    out.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(kSpace, end);
  }
  return out;
}

std::vector<std::string_view> interpreter_line(std::string_view bytes) {
  if (!bytes.starts_with("#!")) return {};
  const std::string_view line = bytes.substr(0, kMostLine);
  return split_words(line.substr(2, line.find('\n') - 2));
}

bool is_assignment(std::string_view word) {
  const size_t equals = word.find('=');
  if (equals == 0 || equals == std::string_view::npos) return false;
  for (const char c : word.substr(0, equals)) {
    if (!is_name_character(c)) return false;
  }
  return true;
}

bool is_env(std::string_view program) {
  return program.substr(program.rfind('/') + 1) == "env";
}

std::string_view after_env(const std::vector<std::string_view>& argv) {
  for (size_t i = 1; i < argv.size(); ++i) {
    if (argv[i] == "-u" || argv[i] == "-C") {
      ++i;
    } else if (!argv[i].starts_with("-") && !is_assignment(argv[i])) {
      return argv[i];
    }
  }
  return {};
}

}  // namespace filibuster
