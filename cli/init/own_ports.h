// How services are told at which port to listen, by the variables that their sources read. For
// wiring.cc.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/init/wiring.h"

namespace filibuster::init {

// "${port:users}"
std::string port_variable_of(const std::string& service);
// nullptr: the draft has no such service.
DraftService* service_of(const std::string& name, Draft* draft);
bool has_number(const std::vector<uint16_t>& ports, uint16_t port);
// The variables of one that reads some, each once.
std::map<std::string, VariableRead> by_name(const std::vector<VariableRead>& reads);
// How well a variable of this name tells a service its own port; 0: it is the port of something else.
int own_port_rank(const std::string& variable, const std::string& service);

}  // namespace filibuster::init
