// The agent in processes of its own, against a real hub.
//
// The program of the tests starts itself again with FILIBUSTER_TEST_SCENARIO: that process plays a service
// through agent.h, as the hooks would, and exits with the number of checks that failed.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/rpc/header_field.h"
#include "preload/rpc/agent.h"
#include "tests/unit/agents/fake_agent.h"

extern char** environ;

// A namespace of their own, since files of a folder are compiled together, and other tests have such names, too.
namespace filibuster::test::session {

namespace pl = filibuster::preload;

inline int g_failures = 0;  // of the checks of this process

inline void check(bool holds, const char* what) {
  if (holds) return;
  ++g_failures;
  std::fprintf(stderr, "[%d] does not hold: %s\n", getpid(), what);
}

inline constexpr uint16_t kMoviesPort = 5001;
inline sockaddr_in address_of(uint16_t port, uint32_t ip = INADDR_LOOPBACK) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(ip);
  return address;
}
inline const sockaddr* generic(const sockaddr_in& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

inline pl::RequestHead get(std::string_view target, std::string_view field = {}) {
  pl::RequestHead head;
  head.method = "GET";
  head.target = target;
  head.host = "movies.example";
  head.filibuster = field;
  return head;
}

inline pl::Incoming* receive(const pl::RequestHead& head, bool multiplexed = false) {
  return pl::incoming_begin({&head, multiplexed});
}

inline pl::OutgoingCall call_movies(std::string_view target, pl::ConnectName connect = {},
                                    std::string_view field = {}) {
  const pl::RequestHead head = get(target, field);
  const sockaddr_in to = address_of(kMoviesPort);
  pl::OutgoingInfo info;
  info.head = &head;
  info.target = pl::lookup_target(generic(to), sizeof to);
  info.peer = "127.0.0.1:5001";
  info.body_complete = true;
  info.body = hash_text("");
  info.opens_connection = !connect.key.is_zero();
  info.connect = connect;
  pl::OutgoingCall call;
  pl::outgoing_begin(info, &call);
  return call;
}

inline void answer(pl::OutgoingCall* call, uint16_t status = 200) {
  RpcFinished finished;
  finished.status = status;
  pl::outgoing_end(call, finished);
}

inline std::string_view header_value(const pl::OutgoingCall& call) {
  return {call.header_line + kHeaderName.size() + 2, kHeaderValueSize};
}

// What one process leaves for another one, or for the test.
inline const char* carrier() {
  return std::getenv("FILIBUSTER_TEST_CARRIER");
}

inline std::string field_of(const RpcContext& context) {
  std::string field(kHeaderValueSize, '\0');
  encode_header_value(context, field.data());
  return field;
}

// A context as this process's own RPCs carry it, of another path.
inline RpcContext own_context() {
  pl::OutgoingCall call = call_movies("/movies/0");
  RpcContext context;
  check(decode_header_value(header_value(call), &context), "a field");
  answer(&call);
  context.path = {7, 7};
  return context;
}

// What a process can be told to play.
struct Scenario {
  const char* name;
  void (*play)();
};

// Those of one file. An object of it has init_priority(200), so that it is known when play_scenario() runs.
class Scenarios {
 public:
  explicit Scenarios(std::span<const Scenario> rows) : rows_(rows), next_(first_) { first_ = this; }
  // nullptr: none of this name.
  static const Scenario* find(std::string_view name) {
    for (const Scenarios* file = first_; file != nullptr; file = file->next_) {
      for (const Scenario& row : file->rows_) {
        if (row.name == name) return &row;
      }
    }
    return nullptr;
  }

 private:
  static inline constinit const Scenarios* first_ = nullptr;
  const std::span<const Scenario> rows_;
  const Scenarios* const next_;
};

class Session : public ::testing::Test {
 protected:
  void SetUp() override {
    auto started = AgentHub::start(hub_options(scratch_));
    ASSERT_TRUE(started.ok()) << started.error().message;
    hub_ = std::move(started).value();
    TargetRow movies;  // without a host: at any loopback address
    movies.port = kMoviesPort;
    movies.service = "movies";
    movies.flags = kTargetInApplication;
    hub_->add_targets({movies});
  }

  // Failed checks of the scenario.
  static int run(const std::string& scenario, const std::string& daemon,
                 const std::string& service) {
    std::vector<std::string> texts;
    for (char** e = environ; *e != nullptr; ++e) texts.emplace_back(*e);
    texts.push_back("FILIBUSTER_TEST_SCENARIO=" + scenario);
    texts.push_back("FILIBUSTER_DAEMON=" + daemon);
    texts.push_back("FILIBUSTER_SERVICE=" + service);
    std::vector<char*> environment;
    for (std::string& text : texts) environment.push_back(text.data());
    environment.push_back(nullptr);
    char program[] = "/proc/self/exe";
    char* arguments[] = {program, nullptr};
    pid_t pid = 0;
    EXPECT_EQ(posix_spawn(&pid, program, nullptr, nullptr, arguments, environment.data()), 0);
    int status = 0;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFEXITED(status)) << scenario;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  ExecutionRecord execute(const std::string& scenario,
                          const std::vector<PlannedRpcFault>& plan = {},
                          const std::string& service = "users") {
    EXPECT_TRUE(hub_->begin_execution(++execution_, plan).ok());
    EXPECT_EQ(run(scenario, hub_->address(), service), 0) << scenario;
    EXPECT_TRUE(hub_->wait_quiescent(milliseconds(5000)));
    ExecutionRecord record = hub_->end_execution();
    EXPECT_EQ(record.lost_events, 0u);
    EXPECT_TRUE(record.still_open.empty());
    return record;
  }

  static const RpcRecord* find(const ExecutionRecord& record, std::string_view target) {
    for (const RpcRecord& rpc : record.rpcs) {
      if (rpc.target == target) return &rpc;
    }
    return nullptr;
  }

  Scratch scratch_;
  std::unique_ptr<AgentHub> hub_;
  uint32_t execution_ = 0;
};

}  // namespace filibuster::test::session
