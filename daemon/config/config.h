// The configuration (filibuster.json, version 1), as parsed and checked. Every error has a position.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/fault/fault.h"
#include "core/index/execution_index.h"
#include "core/index/frame_rules.h"
#include "core/index/masks.h"
#include "core/rpc/protocol.h"
#include "daemon/redact/rules.h"
#include "daemon/stubs/stub.h"
#include "daemon/suite/runner.h"

namespace filibuster {

struct ConfigError {
  std::string file;
  int line = 0, column = 0;  // from 1; 0: the whole file
  std::string message;       // what is wrong and what was expected
};

// In the file, an array of arguments, or a string that /bin/sh -c runs. In commands, `env` and `ready`,
// `${port:NAME}` stands for the number of the port NAME; the environment has it as PORT_<NAME>, too.
struct Command {
  std::vector<std::string> argv;  // {"/bin/sh", "-c", text} for a string
  bool empty() const { return argv.empty(); }
};

struct ReadyCheck {
  enum class Kind { kTcp, kHttp, kLog, kNone } kind = Kind::kTcp;
  std::string http_path;    // kHttp: "/health": any answer below 500
  std::string log_pattern;  // kLog: text in the service's output
  std::string port;         // name of a port; empty: the service's first port
  std::chrono::milliseconds timeout{30000};
};

// The processes of a service that run already (daemon/attach/).
struct AttachConfig {
  enum class By : uint8_t { kNothing, kPid, kPort, kCgroup, kName } by = By::kNothing;
  uint32_t number = 0;  // kPid, kPort
  std::string text;     // kCgroup: a path below the mount of cgroup2; kName: a glob
  bool operator==(const AttachConfig&) const = default;
};
// "port 8080", "the name 'users*'"
std::string to_text(const AttachConfig& attach);

// A name under which programs call a service.
struct HostConfig {
  std::string name;   // in lower case, without a dot at its end; at most as long as HostRow has it
  uint16_t port = 0;  // as programs write it; 0: each that has no entry of its own
  std::string leads_to;  // the name of a port of the service
  bool operator==(const HostConfig&) const = default;
};

struct ContractConfig;

struct ServiceConfig {
  std::string name;
  Command command;      // empty: started by someone else
  AttachConfig attach;  // kNothing: it is not attached to
  std::map<std::string, std::string> env;
  std::string directory;                  // where its command runs; "": Config::directory
  std::map<std::string, uint16_t> ports;  // name -> fixed port, 0: any free one. A service with a
                                          // command that names none has the port named like itself
  std::string host;                       // name or address; "": any loopback address
  std::vector<HostConfig> hosts;          // names that lead to it; `host` is empty then, or this
                                          // machine's, or an IPv4 address
  ReadyCheck ready;
  bool third_party = false;  // carries no agent, and never gets our header field
  bool ignored = false;      // "interpose": false (a database)
  bool by_bpf = false;  // "interpose": "bpf": attached between its start and its first connection
  // The declared protocol. kHttp stands for HTTP and gRPC, which are told apart by what is sent.
  Protocol protocol = Protocol::kHttp;
  enum class Restart { kNever, kCrash, kEach } restart = Restart::kCrash;
  // The service with which it runs in replays of cases, as a cache or a side-car of its own; "": it is a neighbour, and is answered for.
  std::string part_of;
  // A dependency without a process: the daemon listens in its place and answers from `stubs`, which may be
  // empty (whoever calls it gets an error), or as the model of a contract says.
  bool is_virtual = false;
  std::vector<stubs::Stub> stubs;
  std::shared_ptr<const ContractConfig> contract;  // null: there is none
  bool tls = false;  // of a virtual one: clients that begin with TLS are served, too
  // What `filibuster analyze` reads about the service. The paths are absolute; those of `sources` may
  // be folders.
  std::vector<std::string> sources, openapi, proto;

  bool runs_already() const { return attach.by != AttachConfig::By::kNothing; }
  // It is reached from outside, through a proxy that carries the library in its place.
  bool is_attached() const { return runs_already() || by_bpf; }
  // Somebody starts it with the library (LD_PRELOAD), or nothing is known of how it starts.
  bool is_by_hand() const { return command.empty() && !runs_already() && !is_virtual; }
  // It has, or may have, processes of the application that are followed.
  bool is_followed() const { return !third_party && !ignored && !is_virtual; }
};

// Tests that exist already: those of a runner, or what two commands list and run.
struct SuiteConfig : suite::Suite {
  Command list;  // prints the name of each test, one a line
  Command each;  // runs the test that FILIBUSTER_TEST names
};

// A structured test whose blocks are commands (daemon/principled/). Its statements are as a program would make them:
// {"api": "verify_that", "at": "filibuster.json:12", ...} (docs/api.md).
struct PrincipledConfig {
  bool in_program =
      false;  // the blocks are in the program that the test's command starts; nothing else is set
  Command setup, execute, assert_test, teardown;
  std::vector<nlohmann::json> stubs, failure, assert_stubs;
  // The blocks on_fault and on_exception, by the number that a statement of `failure` names.
  struct Assertions {
    Command command;  // may be empty
    std::vector<nlohmann::json> statements;
  };
  std::vector<Assertions> assertions;
};

// A model that comes with the tool (daemon/property/ready_model.h).
struct ReadyModelConfig {
  std::string object;             // one of kReadyKinds
  std::vector<std::string> keys;  // of a key-value store
  nlohmann::json values;          // a generator (docs/property.md); null: that of the object
  nlohmann::json initial;         // the state behind a reset; null: that of the object
  struct Command {
    std::string f;
    uint64_t weight;
  };
  std::vector<Command> commands;  // at least one
};

// Programs that say what the application does, and who asks it (daemon/property/). Weights are those of the seed of random programs.
// The condition `on` and its faults. Empty members match anything; service, caller and method match by
// equality, path by glob (*, ?). For a gRPC call, service and method may also be gRPC names
// (grpc_name.h), and `grpc` matches gRPC calls only. For a command to Redis, the method is the name of
// the command, and the path is the pattern of its key.
struct FaultRule {
  std::string service, method, path, caller, grpc;
  std::vector<FaultSpec> inject;  // empty: nothing is injected
  bool has_evidence = false;      // somebody says why the service gives these
  int line = 0;
};

// A fault that programs arm.
struct PropertyFault {
  FaultRule rule;       // where, and which ones
  std::string name;     // in reports; "": as the fault is written
  uint64_t weight = 1;  // how often it is chosen beside others
  uint64_t lasts = 0;   // it hits each call during so many items at most; 0: it hits one call
  std::map<std::string, uint64_t>
      likelier;  // names of others -> how much likelier the next one is one of them
};

// All orders of commands at the same time are looked at: 120 of five.
inline constexpr int64_t kMostPropertyClients = 5;

struct PropertyConfig {
  // Each is a command, or what stands in its place.
  Command model, client;
  std::optional<ReadyModelConfig> ready_model;
  // A client of HTTP, as daemon/property/http_commands.h reads it; null: there is none. With ${port:NAME} as it was written.
  nlohmann::json http_client;
  uint64_t length = 20;       // items of a program at most
  uint64_t clients = 1;       // that ask at the same time
  uint64_t repetitions = 10;  // of a program of several clients
  uint64_t schedules = 2;     // preemptions of one execution at most
  uint64_t fault_weight = 1, request_weight = 9;
  std::optional<std::vector<PropertyFault>>
      faults;  // in place of those of the configuration; nullopt: these
};

// A property-based test of another file, whose model answers in the place of the service that it tests (daemon/property/model_fake.h).
struct ContractConfig {
  std::string file;  // as it was written
  std::string text;  // of the file
  // Of the file, and of the test: a program that is the model runs there, and with that. Variables that name ports are left out.
  std::string directory;
  std::map<std::string, std::string> env;
  std::string test;
  PropertyConfig property;                       // with a client that is configured
  std::map<std::string, stubs::Answer> answers;  // by command: what its value is put into
};

// Which verbs run a test.
enum class TestKind : uint8_t { kPlain, kPrincipled, kProperty };

struct TestConfig {
  std::string name;  // for a suite, what the names of its tests begin with; may be ""
  Command command;
  std::map<std::string, std::string> env;
  std::string directory;
  std::optional<std::chrono::milliseconds> timeout;
  std::optional<PrincipledConfig> principled;  // for `filibuster principled`
  std::optional<PropertyConfig> property;      // for `filibuster property`
  TestKind kind() const {
    return principled ? TestKind::kPrincipled : property ? TestKind::kProperty : TestKind::kPlain;
  }
  // If set, this entry stands for the tests of a suite and has no command. A session replaces it with
  // those tests.
  std::optional<SuiteConfig> suite;
  bool of_suite = false;  // this test came from a suite
  std::string file;       // of a suite: where the runner found it; "": it did not say
  std::string
      junit_xml;  // the file to which the runner writes the test's result; empty: there is none
};

// What varies from run to run at the RPCs that `on` matches, and therefore takes no part in their
// identity. Empty members of `on` match anything; the path matches by segments (masks.h path_matches).
struct NondeterminismRule {
  std::string caller, service, method, path;
  std::string grpc;                         // as in FaultRule; not together with `path`
  std::vector<uint32_t> path_segments;      // from 1
  std::vector<std::string> query, form;     // names
  std::vector<std::string> json, response;  // JSON pointers; '*' is any name or element
  // In the messages of a gRPC request: pointers whose names are field numbers, "/3/1"
  // (core/index/message_walker.h). For a gRPC answer, `response` has such pointers.
  std::vector<std::string> message;
  bool stack = false;  // the call stack
  int line = 0;
};

struct DescriptorFile {  // written by `protoc --descriptor_set_out`
  std::string path;  // absolute; relative to the daemon's folder if Config::directory is relative
  int line = 0, column = 0;
};

// Globs over modules, files, packages and classes (core/index/frame_rules.h): allow beats deny, deny
// beats the default.
struct FramesConfig {
  std::vector<std::string> allow, deny;
};

// A policy of retry-aware testing: what the attempts of one call get (daemon/retries/policies.h).
struct PolicyConfig {
  std::string name;
  FaultSpec attempts;            // of kind kAttempts, or one fault, which every attempt gets
  bool without_retries = false;  // it says something of a client that does not try again, too
  int line = 0;
};

// Which mutations a server must not do twice: what daemon/retries/effects.h says, unless a rule says something else. Empty
// members match anything; `path` and `body` are globs, the latter over the beginning of the request's body.
struct MutationRule {
  std::string service = {}, method = {}, path = {}, body = {};
  std::string header = {}, header_value = {};  // the name in lower case, and a glob
  std::string grpc = {};                       // "package.Service/Method"; empty: no gRPC call
  bool idempotent = false;                     // true: the rule takes such calls out
};

struct SurfaceRule {
  std::string fault, type;  // "timeout", "ReadTimeout"
};

struct RetriesConfig {
  std::vector<std::string>
      request_ids;  // header fields that name a call, beside core/rpc/request_ids.h
  std::vector<PolicyConfig> policies;  // beside the built-in ones, with other names
  // For `filibuster suite` (daemon/retries/oracles.h).
  std::vector<std::string> test_code;  // where files of test code begin; empty: their names say it
  std::vector<std::string> listed_files;  // in which runners found tests (no key of the file)
  std::vector<std::string>
      system_tests;                  // globs over names of tests; empty: words in the names say it
  bool strict_system_tests = false;  // any exception of a system test is a bug
  std::vector<SurfaceRule> surfaces_as;  // exceptions that a fault may surface as
  std::vector<MutationRule> mutations;
};

struct HooksConfig {
  Command before_execution, after_execution;
};

struct BoundsConfig {
  uint64_t max_executions = 0;
  uint32_t max_faults = 0;
  std::chrono::milliseconds quiesce_timeout{5000};
  std::optional<std::chrono::milliseconds> hang_limit;    // default: 3 x reference, at least 6 s
  std::optional<std::chrono::milliseconds> test_timeout;  // default: 10 x reference, at least 10 s
  // Time for the whole session; 0: no bound. With it, what is likelier to fail is executed first.
  std::chrono::milliseconds max_time{0};
  bool stop_at_first = false;
  uint32_t reference_executions = 2;  // compared with each other; 1: nothing is compared
};

// Which executions are left out because they would show nothing new (daemon/search/search.h).
enum class Reduction : uint8_t {
  kSound,  // answers are equal by status and body; executions with one fault are never left out
  kPublished,  // answers are equal by status alone, as in the dissertation; single faults may be left out
  kOff,        // none
};
std::string_view reduction_name(Reduction reduction);

// Whether executions are forked from a snapshot of the test (daemon/lane/test_starter.h).
enum class Snapshots : uint8_t {
  kWhereItPays,  // not where the test starts in a few milliseconds
  kAlways,
  kNever,
};
// "'sound', 'published' or 'off'"
std::string reduction_names();
std::optional<Reduction> parse_reduction(std::string_view name);

struct Config {
  int version = 1;
  std::string path;       // "" for a configuration made from the command line
  std::string directory;  // absolute; commands run here
  // The name by which services that somebody else starts find this session; not in the file.
  std::string application;
  std::vector<ServiceConfig> services;
  bool has_hosts() const;  // of any service
  std::vector<TestConfig> tests;
  RetriesConfig retries;
  std::vector<FaultRule>
      faults;                  // the first rule that matches an RPC decides; else the default set
  bool default_faults = true;  // false: there is no default set
  bool fault_test_calls = false;  // the test's own calls get faults, too
  std::vector<NondeterminismRule> nondeterminism;
  std::vector<RedactRule> redact;  // what else is a secret
  // Globs over functions, as "orders.py new_id", and over sources: cases keep the random numbers that are drawn there, whatever
  // replays have shown of their effect.
  std::vector<std::string> keep_draws;
  std::vector<DescriptorFile> descriptors;
  bool reflection = true;  // services that are not in `descriptors` are asked by server reflection
  FramesConfig frames;     // of call stacks
  HooksConfig hooks;
  BoundsConfig bounds;
  std::string
      baseline;  // absolute path of the accepted findings (daemon/report/baseline.h); "": none
  uint32_t index_parts = kIndexAll;
  Reduction reduce = Reduction::kSound;
  bool fast_timeouts = true;
  Snapshots snapshots = Snapshots::kWhereItPays;
  bool resets = true;  // a child of a snapshot serves one execution after the other
};

struct ParsedConfig {
  Config config;
  std::vector<ConfigError> errors;  // empty: valid
};
// `path` names the file in errors; `directory` is where relative paths begin.
ParsedConfig parse_config(const std::string& text, const std::string& path,
                          const std::string& directory);

// A stub as in `stubs` of the service. `redis`: of one that speaks Redis. Error: what is wrong with it.
Result<stubs::Stub> parse_stub(const nlohmann::json& json, const std::string& service, bool redis);

// A duration as text, "10m": as in the configuration. Error: it is none.
Result<std::chrono::milliseconds> parse_duration_text(const std::string& text);

// One fault as text: "refused", "status:503:after", "grpc:UNAVAILABLE", and "503" for "status:503".
Result<FaultSpec> parse_fault_text(std::string_view text);

// True if the rule matches by itself, whatever rules stand before it. The test is `caller` "" or "test".
// `path` names the method of a gRPC call, and the key of a command to Redis.
bool rule_matches(const Config& config, const FaultRule& rule, const std::string& caller,
                  const std::string& service, const std::string& method, const std::string& path,
                  Protocol protocol = Protocol::kHttp);
// The faults of one RPC by the first rule that matches, or the default set; {} if the RPC must not be
// faulted. Some of them may not apply to the RPC (fault_applies).
std::vector<FaultSpec> faults_for(const Config& config, const std::string& caller,
                                  const std::string& service, const std::string& method,
                                  const std::string& path, Protocol protocol = Protocol::kHttp);
// Is it the default set that gives an RPC its faults? False where a rule matches, or nothing may be injected.
bool default_set_decides(const Config& config, const std::string& caller,
                         const std::string& service, const std::string& method,
                         const std::string& path, Protocol protocol = Protocol::kHttp);
// Some faults need HTTP, HTTP/2, a gRPC call, or a command to Redis; the others apply to any RPC.
// `opens_encrypted`: it is the first one of its connection, which is encrypted.
bool fault_applies(const FaultSpec& fault, bool http2, Protocol protocol,
                   bool opens_encrypted = false);
// Why a fault does not apply to an RPC, as text for people: "it does not go over HTTP/2".
std::string_view why_not_applicable(const FaultSpec& fault, Protocol protocol = Protocol::kHttp);
// Does a rule name a command that client libraries send to Redis by themselves?
bool names_library_command(const Config& config);
// For people: `grpc:UNAVAILABLE "no stock"`, `status:503 "slow" (with Retry-After)`
std::string describe_fault(const FaultSpec& fault);
// "RPCs of users to movies GET /movies/*", "gRPC calls to cart shop.CartService/GetCart"
std::string describe_condition(const FaultRule& rule);
// The table that agents read. The Error says that the rules do not fit into it.
Result<std::unique_ptr<MaskTable>> compile_masks(const std::vector<NondeterminismRule>& rules);
// The allow and deny lists as the table that agents read.
FrameTable compile_frames(const FramesConfig& frames);
// The rules as the text of `nondeterminism`, one a line; and back.
std::string to_config_text(const std::vector<NondeterminismRule>& rules);
// `whole_paths`: a rule may mask all segments of a path, which a configuration may not.
Result<std::vector<NondeterminismRule>> parse_nondeterminism(const std::string& text,
                                                             bool whole_paths = false);

// One line for each rule, with the default set if it applies to anything.
std::vector<std::string> describe_faults(const Config& config);

}  // namespace filibuster
