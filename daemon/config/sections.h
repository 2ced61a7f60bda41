// The parts of the configuration, which config.cc puts together. Each file reads one part.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/config/config.h"
#include "daemon/config/reader.h"

namespace filibuster::config {

// A ${port:NAME} in a text. The name is checked when all ports are known.
struct PortUse {
  size_t offset;
  std::string name;
};

struct Draft {
  Config config;
  std::vector<PortUse> port_uses;
  std::vector<ConfigError> errors_elsewhere;  // in files that the configuration names
};

// values.cc: small values that several sections share
nlohmann::json json_of(const SourceNode& node);
void read_command(Reader& reader, const SourceNode& node, std::string_view what, Draft* draft,
                  Command* out);
void read_environment(Reader& reader, const SourceNode& node, Draft* draft,
                      std::map<std::string, std::string>* out);
void read_directory(Reader& reader, const SourceNode& node, const Draft& draft, std::string* out);
void note_port_uses(Reader& reader, const SourceNode& node, Draft* draft);
// The `grpc` of an `on`: the name of a gRPC method (grpc_name.h).
void read_grpc_name(Reader& reader, const SourceNode& node, std::string* out);
// Letters, digits, '.', '_' and '-': names become part of paths, variables and headers.
bool read_name(Reader& reader, const SourceNode& node, std::string_view what, std::string* out);

// services.cc
// Leaves `out` empty where the value is not good.
void read_attach(Reader& reader, const SourceNode& node, AttachConfig* out);
void read_services(Reader& reader, const SourceNode& node, Draft* draft);
// stubs.cc. `redis`: of a service that speaks Redis.
void read_stubs(Reader& reader, const SourceNode& node, const std::string& service, bool redis,
                std::vector<stubs::Stub>* out);
// The keys of an answer of HTTP. nullopt: an error was reported.
std::optional<stubs::Answer> read_http_answer(Reader& reader, const SourceNode& node);
// contract.cc. nullptr: an error was reported, in `draft` if it is one of the other file.
std::shared_ptr<const ContractConfig> read_contract(Reader& reader, const SourceNode& node,
                                                    Draft* draft);
// principled.cc: `principled` of a test
void read_principled(Reader& reader, const SourceNode& node, Draft* draft,
                     std::optional<PrincipledConfig>* out);
// faults.cc: the `on` of a rule, its `inject`, and its `evidence`
void read_on(Reader& reader, const SourceNode& node, FaultRule* out);
void read_inject(Reader& reader, const SourceNode& node, FaultRule* out);
void read_evidence(Reader& reader, const SourceNode& node, FaultRule* out);
// property.cc: `property` of a test
void read_property(Reader& reader, const SourceNode& node, Draft* draft,
                   std::optional<PropertyConfig>* out);
// ready_model.cc: the `model` of it that comes with the tool
void read_ready_model(Reader& reader, const SourceNode& node, std::optional<ReadyModelConfig>* out);
// When the client is known. `configured`: the commands that are configured for it; empty: it is a program. Chooses commands
// and their weights where the model names none.
void finish_ready_model(Reader& reader, const SourceNode& node,
                        const std::vector<std::string>& configured, ReadyModelConfig* model);
// http_client.cc: the `client` of it that is configured. `model`: null where a program is the model.
void read_http_client(Reader& reader, const SourceNode& node, const ReadyModelConfig* model,
                      Draft* draft, nlohmann::json* out);
// hosts.cc: names under which programs call a service
struct HostDraft {
  size_t offset;
  std::string name;
  std::optional<uint16_t> port;  // as programs write it
  std::string leads_to;          // "": it is not said
};
void read_hosts(Reader& reader, const SourceNode& node, std::vector<HostDraft>* out);
// When the ports of the service are known. `owners`: the service of each name and port so far.
using HostOwners = std::map<std::pair<std::string, uint16_t>, std::string>;
void finish_hosts(Reader& reader, const std::vector<HostDraft>& hosts, HostOwners* owners,
                  ServiceConfig* service);
void check_host_count(Reader& reader, const SourceNode& services, const HostOwners& owners);
// nondeterminism.cc
void read_nondeterminism(Reader& reader, const SourceNode& node, Draft* draft);
// Such rules that stand elsewhere. They may mask all segments of a path.
void read_masks(Reader& reader, const SourceNode& node, std::vector<NondeterminismRule>* out);
// frames.cc: `index.frames`
void read_frames(Reader& reader, const SourceNode& node, Draft* draft);
// faults.cc
void read_faults(Reader& reader, const SourceNode& node, Draft* draft);
// One fault, as text or as an object. False: an error was reported.
bool read_fault(Reader& reader, const SourceNode& node, FaultSpec* out);
// attempts.cc: {"attempts": [...]}, a sequence of faults (core/fault/attempts.h)
void read_attempts(Reader& reader, const SourceNode& node, FaultSpec* out);
// retries.cc
void read_retries(Reader& reader, const SourceNode& node, Draft* draft);

}  // namespace filibuster::config
