// Environment variables in what is no program: commands, and the settings of Spring, which reads the
// environment for them. And what else is read there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/init/reads.h"

namespace filibuster::init {

// application.yml, application-prod.properties, bootstrap.yaml
bool is_settings_of_spring(std::string_view path);
// ${NAME} and ${NAME:default}
void reads_of_spring(const std::string& path, std::string_view text,
                     std::vector<VariableRead>* out);

// $NAME, ${NAME} and ${NAME:-default} in a command of the shell; `who` is shown in the place of a file.
std::vector<VariableRead> variables_of_command(const std::string& who, std::string_view command);

// Whether a source, or a command, makes a server that speaks TLS, and none that does not.
bool serves_tls(std::string_view text);

}  // namespace filibuster::init
