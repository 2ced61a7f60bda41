// A session without a daemon, and a recording in it: what the library puts onto the tape of real programs.
//
//   tape_probe [--service NAME PORT FLAGS] ... [--record nothing|places|bytes] [--quiet] LIBRARY COMMAND
//
// Runs the shell command in one execution, with the library preloaded, and prints what was recorded, as JSON: connections with
// the bytes of both directions in hexadecimal, their gaps and ends, and the RPCs with their places. FLAGS are TargetFlags.
// --quiet: what is recorded is thrown away (tests/bench/tape_bench.py).
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/index/execution_index.h"
#include "daemon/agents/agent_hub.h"
#include "tests/unit/temporary_folder.h"

extern char** environ;

namespace filibuster {
namespace {

using nlohmann::json;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "tape_probe: %s\n", what.c_str());
  std::exit(2);
}

// Puts the recording together. No lock: it is read when the recording is over.
class Discarded final : public RecordingSink {
 public:
  void event(const EventSource&, const EventHead&, std::span<const uint8_t>) override {}
  void bytes(const EventSource&, const EventHead&, const TapeBytes&) override {}
  void gap(const EventSource&, const EventHead&, const TapeGap&) override {}
  void closed(const EventSource&, const EventHead&, const TapeClosed&) override {}
  void draw(const EventSource&, const EventHead&, const TapeDraw&) override {}
  void lost(const EventSource& source, uint64_t records) override {
    std::fprintf(stderr, "%s lost %llu records\n", source.service.c_str(),
                 static_cast<unsigned long long>(records));
  }
  void ended(const EventSource&) override {}
};

class Recorded final : public RecordingSink {
 public:
  void event(const EventSource& source, const EventHead& head,
             std::span<const uint8_t> payload) override {
    switch (static_cast<EventType>(head.type)) {
      case EventType::kConnectionSeen: {
        const auto e = decoded<ConnectionSeen>(payload);
        json& c = connection(source, e.connection);
        c["protocol"] = static_cast<int>(e.protocol);
        c["seen_from"] = static_cast<int>(e.seen_from);
        c["server"] = e.server != 0;
        c["local"] = e.local;
        c["local_port"] = e.local_port;
        c["peer"] = e.peer;
        c["target"] = e.service;
        c["messages"] = e.messages;
        c["said"] = c.value("said", 0) + 1;
        break;
      }
      case EventType::kRpcAt: {
        const auto e = decoded<RpcAt>(payload);
        connection(source, e.connection)["places"].push_back(
            {{"rpc", e.rpc}, {"number", e.number}, {"incoming", e.incoming != 0}});
        break;
      }
      case EventType::kRpcIssued: {
        const auto e = decoded<RpcIssued>(payload);
        rpcs_.push_back({{"rpc", e.rpc}, {"method", e.method}, {"target", e.target}});
        break;
      }
      default:
        break;
    }
  }
  void bytes(const EventSource& source, const EventHead& head, const TapeBytes& r) override {
    json& c = connection(source, r.connection);
    const char* const direction = r.requests != 0 ? "requests" : "answers";
    const uint64_t next = next_[{source.agent, r.connection, r.requests}];
    if (r.position != next) c["holes"].push_back({direction, next, r.position});
    next_[{source.agent, r.connection, r.requests}] = r.position + r.bytes.size();
    std::string text(c.value(direction, ""));
    for (const uint8_t byte : r.bytes) {
      char two[3];
      std::snprintf(two, sizeof two, "%02x", byte);
      text += two;
    }
    c[direction] = std::move(text);
    if (head.time_ns < last_ns_[source.agent]) c["time_goes_back"] = true;
    last_ns_[source.agent] = head.time_ns;
  }
  void gap(const EventSource& source, const EventHead&, const TapeGap& r) override {
    connection(source, r.connection)["gaps"].push_back({{"requests", r.requests != 0},
                                                        {"position", r.position},
                                                        {"size", r.size},
                                                        {"reason", r.reason}});
    next_[{source.agent, r.connection, r.requests}] = r.position;
  }
  void closed(const EventSource& source, const EventHead&, const TapeClosed& r) override {
    connection(source, r.connection)["closed"].push_back({{"by_peer", r.by_peer != 0},
                                                          {"error", r.error},
                                                          {"requests", r.requests},
                                                          {"answers", r.answers}});
  }
  void draw(const EventSource&, const EventHead&, const TapeDraw&) override {}
  void lost(const EventSource&, uint64_t records) override { lost_ += records; }
  void ended(const EventSource&) override {}

  json document() const {
    json out{{"lost", lost_}, {"rpcs", rpcs_}, {"connections", json::array()}};
    for (const auto& [key, c] : connections_) out["connections"].push_back(c);
    return out;
  }

 private:
  template <typename Event>
  static Event decoded(std::span<const uint8_t> payload) {
    Event event;
    if (!decode(payload.data(), payload.size(), &event)) fail("a malformed event");
    return event;
  }
  json& connection(const EventSource& source, uint64_t number) {
    json& c = connections_[{source.agent, number}];
    c["service"] = source.service;
    c["pid"] = source.pid;
    return c;
  }

  std::map<std::pair<uint32_t, uint64_t>, json> connections_;
  std::map<std::tuple<uint32_t, uint64_t, uint8_t>, uint64_t> next_;
  std::map<uint32_t, uint64_t> last_ns_;
  json rpcs_ = json::array();
  uint64_t lost_ = 0;
};

int run(const std::string& command, const std::string& library, const std::string& address) {
  std::vector<std::string> texts;
  for (char** e = environ; *e != nullptr; ++e) {
    if (std::strncmp(*e, "FILIBUSTER_", 11) != 0 && std::strncmp(*e, "LD_PRELOAD=", 11) != 0)
      texts.emplace_back(*e);
  }
  texts.push_back("LD_PRELOAD=" + library);
  texts.push_back("FILIBUSTER_DAEMON=" + address);
  std::vector<char*> environment;
  for (std::string& text : texts) environment.push_back(text.data());
  environment.push_back(nullptr);
  std::string words[] = {"sh", "-c", command};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  pid_t pid = 0;
  if (posix_spawn(&pid, "/bin/sh", nullptr, nullptr, arguments, environment.data()) != 0)
    fail("the command cannot be started");
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

struct Request {
  std::vector<TargetRow> targets;
  std::string what = "bytes";
  bool quiet = false;
  std::string library, command;
};

Request read_request(int argc, char** argv) {
  Request out;
  int at = 1;
  const auto next = [&] {
    if (++at >= argc) fail("a word is missing");
    return std::string(argv[at]);
  };
  for (; at < argc && std::strncmp(argv[at], "--", 2) == 0; ++at) {
    const std::string_view option = argv[at];
    if (option == "--record") {
      out.what = next();
    } else if (option == "--quiet") {
      out.quiet = true;
    } else if (option == "--service") {
      TargetRow row;
      row.service = next();
      row.port = static_cast<uint16_t>(std::stoi(next()));
      row.flags = static_cast<uint32_t>(std::stoi(next()));
      out.targets.push_back(row);
    } else {
      fail("no such option");
    }
  }
  if (argc - at != 2) fail("wants a library and a command");
  out.library = argv[at];
  out.command = argv[at + 1];
  return out;
}

int probe(const Request& request) {
  const TemporaryFolder folder;
  HubOptions options;
  options.directory = folder.path() + "/hub";
  options.user_directory = folder.path() + "/user";
  options.session = 7;
  options.index_parts = kIndexAll;
  auto started = AgentHub::start(options);
  if (!started) fail(started.error().message);
  const std::unique_ptr<AgentHub> hub = std::move(started).value();
  hub->add_targets(request.targets);
  const auto recorded = std::make_shared<Recorded>();
  std::shared_ptr<RecordingSink> sink = recorded;
  if (request.quiet) sink = std::make_shared<Discarded>();
  const auto what =
      request.what == "places" ? Recordings::What::kPlaces : Recordings::What::kPlacesAndBytes;
  if (request.what != "nothing") {
    if (auto begun = hub->recordings().start(sink, what); !begun) fail(begun.error().message);
  }
  if (auto begun = hub->begin_execution(1, {}); !begun) fail(begun.error().message);
  const int status = run(request.command, request.library, hub->address());
  const bool quiescent = hub->wait_quiescent(std::chrono::milliseconds(5000));
  hub->recordings().stop();
  const ExecutionRecord record = hub->end_execution();
  if (request.quiet) return status;
  json out = recorded->document();
  out["status"] = status;
  out["quiescent"] = quiescent;
  out["lost_events"] = record.lost_events;
  out["notes"] = record.notes;
  std::printf("%s\n", out.dump(1).c_str());
  return 0;
}

}  // namespace
}  // namespace filibuster

int main(int argc, char** argv) {
  return filibuster::probe(filibuster::read_request(argc, argv));
}
