// The sockets of another process, one after the other (pidfd_getfd).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "bpf/loader/failure.h"

namespace filibuster::bpf {

// Calls `take` with a copy of each descriptor of the process, which is closed again at once: while we have
// one, the process cannot close its connection. Of a process that has ended there are none.
Outcome for_each_descriptor(pid_t process, const std::function<void(int)>& take);

// The port of a listening TCP socket; 0: it is none.
uint16_t listening_port(int socket);

// The ports at which the process listens.
Outcome listening_ports(pid_t process, std::vector<uint16_t>* ports);

// Does nobody listen at the port, in our network namespace?
bool is_free(uint16_t port);

}  // namespace filibuster::bpf
