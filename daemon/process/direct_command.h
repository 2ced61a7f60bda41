// A command of which /bin/sh would only start a program, or replace itself by one (`pytest -q`, `exec ./users --port 1`), is
// started without the shell: its start costs more than that of many programs, and it stands between the daemon and a test that
// is to be forked. What the program then sees is what the shell would have left it: its words, its variables, its working
// directory. Whatever may mean more to a shell than plain words is left to the shell.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace filibuster {

// What a text comes to that a POSIX shell takes for the start of one program and nothing else.
struct PlainCommand {
  std::vector<std::pair<std::string, std::string>>
      variables;                   // name and value, in their order; none before `exec`
  std::vector<std::string> words;  // without `exec`
  bool operator==(const PlainCommand&) const = default;
};
// nullopt: only a shell knows. The first word may still be no program.
std::optional<PlainCommand> plain_command(std::string_view shell_text);

struct DirectCommand {
  std::string program;                   // as execve takes it, after the change of the directory
  std::vector<std::string> argv;         // the first one as it is written in the text
  std::vector<std::string> environment;  // what the shell would have exported
  bool operator==(const DirectCommand&) const = default;
};

// What `argv` ({"/bin/sh", "-c", text}) comes to in `directory` ("": that of this process) with `environment`. nullopt: the shell
// has to be started, also where the program is not found, so that the message and the exit status are the shell's.
std::optional<DirectCommand> direct_command(const std::vector<std::string>& argv,
                                            const std::vector<std::string>& environment,
                                            const std::string& directory);

}  // namespace filibuster
