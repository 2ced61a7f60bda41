#include "daemon/process/direct_command.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "daemon/process/preflight.h"
#include "daemon/process/session_lane.h"

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

// Variables by which a shell finds a program, or a library its own.
bool is_looked_at(std::string_view name) {
  return name == "PATH" || name == "PWD" || name == "OLDPWD";
}

// What POSIX shells, dash and bash among them, do by themselves, and what has a meaning of its own as a first word.
bool is_word_of_shell(std::string_view word) {
  // clang-format off
  constexpr std::string_view kWords[] = {
      "!", "{", "}", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in",
      "select", "then", "time", "until", "while",
      ".", ":", "[", "alias", "bg", "bind", "break", "builtin", "caller", "cd", "chdir", "command", "compgen", "complete",
      "compopt", "continue", "declare", "dirs", "disown", "echo", "enable", "eval", "exit", "export", "false", "fc", "fg",
      "getopts", "hash", "help", "history", "jobs", "kill", "let", "local", "logout", "mapfile", "popd", "printf", "pushd",
      "pwd", "read", "readarray", "readonly", "return", "set", "shift", "shopt", "source", "suspend", "test", "times", "trap",
      "true", "type", "typeset", "ulimit", "umask", "unalias", "unset", "wait"};
  // clang-format on
  return std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords);
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

std::optional<PlainCommand> plain_command(std::string_view shell_text) {
  PlainCommand out;
  bool replaces = false;  // the shell by the program: `exec`
  size_t at = 0;
  while (at < shell_text.size()) {
    if (is_blank(shell_text[at])) {
      ++at;
      continue;
    }
    std::string word;
    size_t plain = 0;  // bytes of the word before its first quote
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
      if (!quoted) plain = word.size();
    }
    if (!out.words.empty() || replaces) {
      out.words.push_back(std::move(word));
      continue;
    }
    // Only what stands outside of quotes makes a word an assignment. Where there is another '=', shells differ ("A+=1").
    const std::string_view name = variable_name(std::string_view(word).substr(0, plain));
    if (!name.empty()) {
      if (is_of_shell(name) || is_looked_at(name)) return std::nullopt;
      out.variables.emplace_back(name, word.substr(name.size() + 1));
    } else if (word.find('=') != std::string::npos || is_word_of_shell(word)) {
      return std::nullopt;
    } else if (word == "exec") {
      // What stands before `exec` shells keep differently.
      if (quoted || !out.variables.empty()) return std::nullopt;
      replaces = true;
    } else {
      out.words.push_back(std::move(word));
    }
  }
  if (out.words.empty()) return std::nullopt;
  // An option of the shell's own `exec`, or a name that cannot be looked up.
  if (out.words[0].empty() || out.words[0][0] == '-') return std::nullopt;
  return out;
}

std::optional<DirectCommand> direct_command(const std::vector<std::string>& argv,
                                            const std::vector<std::string>& environment,
                                            const std::string& directory) {
  if (argv.size() != 3 || argv[0] != "/bin/sh" || argv[1] != "-c") return std::nullopt;
  auto command = plain_command(argv[2]);
  if (!command) return std::nullopt;
  DirectCommand out;
  out.argv = std::move(command->words);
  const std::string& program = out.argv[0];
  std::string path, working_directory;
  for (const std::string& entry : environment) {
    // Where the shell is bash, a function of this name comes before the program.
    if (entry.starts_with("BASH_FUNC_" + program)) return std::nullopt;
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
  if (program.find('/') == std::string::npos && !is_absolute_path_list(path)) return std::nullopt;
  const std::string found = find_program(program, directory, path);
  if (found.empty() || access(found.c_str(), X_OK) != 0) return std::nullopt;
  out.program = program.find('/') == std::string::npos ? found : program;
  // The way by which the folder was entered is kept, if it still leads there (POSIX, `sh`, PWD).
  const std::string here = directory.empty() ? "." : directory;
  if (!working_directory.starts_with("/") || !same_folder(working_directory, here)) {
    std::error_code failed;
    working_directory = fs::canonical(here, failed).string();
    if (failed) return std::nullopt;
  }
  out.environment.push_back("PWD=" + working_directory);
  for (const auto& [name, value] : command->variables) set_variable(&out.environment, name, value);
  return out;
}

}  // namespace filibuster
