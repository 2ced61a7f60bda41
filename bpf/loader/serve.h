// `filibuster-bpf serve --fd N`: answers the messages of protocol.h until the daemon's end of the connection N
// is closed.
#pragma once

#include <cstdint>
#include <string>

namespace filibuster::bpf {

// `writes`: the only way to see writes that may be taken; "": any. Returns the exit code.
int serve(int fd, const std::string& writes, uint16_t spared);

}  // namespace filibuster::bpf
