#include "daemon/process/direct_command.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "daemon/process/preflight.h"

namespace filibuster {
namespace {

namespace fs = std::filesystem;

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// A byte that stands for itself outside of quotes, wherever in a word.
bool is_plain(char c) {
  return is_letter_or_digit(c) || std::string_view("_-./:=,+@%").find(c) != std::string_view::npos;
}

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

// Takes the text between quotes that begins at `*at`. False: it does not end, or has what a shell expands.
bool take_quoted(std::string_view text, size_t* at, std::string* word) {
  const char quote = text[*at];
  const size_t end = text.find(quote, *at + 1);
  if (end == std::string_view::npos) return false;
  const std::string_view inner = text.substr(*at + 1, end - *at - 1);
  if (inner.find('\0') != std::string_view::npos) return false;
  if (quote == '"' && inner.find_first_of("$`\\") != std::string_view::npos) return false;
  *word += inner;
  *at = end + 1;
  return true;
}

// "NAME" of "NAME=value". "": a shell does not take it for a variable, and does not pass it on.
std::string_view variable_name(std::string_view entry) {
  const std::string_view name = entry.substr(0, std::min(entry.find('='), entry.size()));
  const bool is_name = name.size() < entry.size() && !name.empty() &&
                       !(name[0] >= '0' && name[0] <= '9') &&
                       std::all_of(name.begin(), name.end(),
                                   [](char c) { return is_letter_or_digit(c) || c == '_'; });
  return is_name ? name : std::string_view();
}

// Variables that a shell gives values of its own, exported or not.
bool is_of_shell(std::string_view name) {
  return name == "IFS" || name == "OPTIND" || name == "PPID" || name == "LINENO";
}

bool same_folder(const std::string& one, const std::string& other) {
  struct stat a, b;
  return stat(one.c_str(), &a) == 0 && stat(other.c_str(), &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

// Every entry is the absolute path of a folder, so that a program is found wherever the search is made.
bool is_absolute_path_list(std::string_view list) {
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(':', begin), list.size());
    if (begin == list.size() || list[begin] != '/') return false;
    begin = end + 1;
  }
  return true;
}

}  // namespace

std::optional<std::vector<std::string>> words_to_exec(std::string_view shell_text) {
  std::vector<std::string> words;
  size_t at = 0;
  while (at < shell_text.size()) {
    if (is_blank(shell_text[at])) {
      ++at;
      continue;
    }
    std::string word;
    bool quoted = false;
    while (at < shell_text.size() && !is_blank(shell_text[at])) {
      const char c = shell_text[at];
      if (c == '\'' || c == '"') {
        quoted = true;
        if (!take_quoted(shell_text, &at, &word)) return std::nullopt;
      } else if (is_plain(c)) {
        word += c;
        ++at;
      } else {
        return std::nullopt;
      }
    }
    if (words.empty() && (quoted || word != "exec")) return std::nullopt;
    words.push_back(std::move(word));
  }
  if (words.size() < 2) return std::nullopt;
  words.erase(words.begin());
  // An option of the shell's own `exec`, or a name that cannot be looked up.
  if (words[0].empty() || words[0][0] == '-') return std::nullopt;
  return words;
}

std::optional<DirectCommand> direct_command(const std::vector<std::string>& argv,
                                            const std::vector<std::string>& environment,
                                            const std::string& directory) {
  if (argv.size() != 3 || argv[0] != "/bin/sh" || argv[1] != "-c") return std::nullopt;
  auto words = words_to_exec(argv[2]);
  if (!words) return std::nullopt;
  DirectCommand out;
  out.argv = std::move(*words);
  std::string path, working_directory;
  for (const std::string& entry : environment) {
    const std::string_view name = variable_name(entry);
    if (name.empty()) continue;
    if (is_of_shell(name)) return std::nullopt;
    std::string value = entry.substr(name.size() + 1);
    if (name == "PATH") path = value;
    if (name == "PWD")
      working_directory = std::move(value);
    else
      out.environment.push_back(entry);
  }
  const std::string& program = out.argv[0];
  if (program.find('/') == std::string::npos && !is_absolute_path_list(path)) return std::nullopt;
  const std::string found = find_program(program, directory, path);
  if (found.empty()) return std::nullopt;
  out.program = program.find('/') == std::string::npos ? found : program;
  // The way by which the folder was entered is kept, if it still leads there (POSIX, `sh`, PWD).
  const std::string here = directory.empty() ? "." : directory;
  if (!working_directory.starts_with("/") || !same_folder(working_directory, here)) {
    std::error_code failed;
    working_directory = fs::canonical(here, failed).string();
    if (failed) return std::nullopt;
  }
  out.environment.push_back("PWD=" + working_directory);
  return out;
}

}  // namespace filibuster
