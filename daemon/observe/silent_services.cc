#include "daemon/observe/silent_services.h"

#include <algorithm>
#include <set>

#include "daemon/observe/observation.h"

namespace filibuster {
namespace {

// The programs of a service that take part in the session: "python3", "nginx, sh"; "": none does.
std::string programs_in_session(const std::vector<AgentRecord>& agents,
                                const std::string& service) {
  std::set<std::string> names;
  for (const AgentRecord& agent : agents) {
    if (agent.service == service)
      names.insert(agent.executable.substr(agent.executable.rfind('/') + 1));
  }
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

}  // namespace

std::map<std::string, std::string> services_without_agent(const Config& config,
                                                          const ExecutionRecord& record,
                                                          const std::vector<AgentRecord>& agents) {
  std::map<std::string, std::string> found;
  for (const RpcRecord& rpc : record.rpcs) {
    // What nobody decrypts carries no field, so nobody knows who received it.
    if (rpc.injected || rpc.is_sealed() || !rpc.answered() || rpc.received_by == rpc.service)
      continue;
    const auto service = std::find_if(
        config.services.begin(), config.services.end(),
        [&](const ServiceConfig& each) { return each.name == rpc.service && each.is_followed(); });
    if (service == config.services.end()) continue;
    const std::string forwarded =
        rpc.received_by.empty() ? ""
                                : " (what it forwarded was received by '" + rpc.received_by + "')";
    const std::string answered = "service '" + rpc.service + "' answered " + describe_rpc(rpc);
    if (const std::string programs = programs_in_session(agents, rpc.service); !programs.empty()) {
      found.emplace(
          rpc.service,
          answered + ", but no process of it that takes part in the session (" + programs +
              ") was seen to receive it" + forwarded +
              ": the calls that it makes for it are not known to be caused by it, or not seen. "
              "Does a process answer that runs as another user, without LD_PRELOAD, "
              "without libc's sockets (io_uring), or by stdio (printf to its standard output)?");
      continue;
    }
    found.emplace(
        rpc.service,
        answered + ", but the process that did takes no part in the session" + forwarded +
            ": its own calls are not seen. Does it run as another user than this session, "
            "without LD_PRELOAD, or without libc's sockets?" +
            (service->is_by_hand() && !config.application.empty()
                 ? " Or does it call itself otherwise, or belong to another application? It "
                   "follows this one with FILIBUSTER_SERVICE=" +
                       rpc.service + " and FILIBUSTER_APPLICATION=" + config.application
                 : ""));
  }
  return found;
}

}  // namespace filibuster
