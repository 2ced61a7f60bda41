// What a report says of services that are attached.
#include "daemon/report/text.h"

namespace filibuster {

std::vector<std::string> attached_notes(const std::vector<AttachedRow>& attached) {
  if (attached.empty()) return {};
  std::string who;
  for (const AttachedRow& row : attached) {
    who += (who.empty() ? "" : ", ") + row.service + " (" + row.program;
    if (!row.started) {
      for (const int pid : row.pids)
        who += (pid == row.pids.front() ? ", pid " : ", ") + std::to_string(pid);
    }
    who += ")";
  }
  return {
      "attached, not preloaded: " + who,
      "of attached services: what goes over Unix sockets is not seen; a server that asks for the "
      "address of its peer sees the proxy's; without frame pointers a call site is the function "
      "that makes the call"};
}

}  // namespace filibuster
