// A command that /bin/sh would only replace itself by (`exec ./users --port 1`) is started without the shell, whose start
// costs more than that of many programs. What the program then sees is what the shell would have left it: its words, its
// variables, its working directory. Whatever may mean more to a shell than plain words is left to the shell.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace filibuster {

// The words after `exec` of a text that a POSIX shell takes for that and nothing else. nullopt: only a shell knows.
std::optional<std::vector<std::string>> words_to_exec(std::string_view shell_text);

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
