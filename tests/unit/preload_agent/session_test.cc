// The agent in processes of its own, against a real hub: registration, indexes, plan, forks.
//
// This program starts itself again with FILIBUSTER_TEST_SCENARIO: that process plays a service
// through agent.h, as the hooks would, and exits with the number of checks that failed.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>

#include "preload/agent/agent.h"
#include "preload/agent/causality.h"
#include "tests/unit/agents/fake_agent.h"

extern char** environ;

namespace filibuster::test {
namespace {

namespace pl = filibuster::preload;

// --- what the scenarios are made of -------------------------------------------------------------

int g_failures = 0;
void check(bool holds, const char* what) {
  if (holds) return;
  ++g_failures;
  std::fprintf(stderr, "[%d] does not hold: %s\n", getpid(), what);
}

constexpr uint16_t kMoviesPort = 5001;
sockaddr_in address_of(uint16_t port, uint32_t ip = INADDR_LOOPBACK) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(ip);
  return address;
}
const sockaddr* generic(const sockaddr_in& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

pl::RequestHead get(std::string_view target, std::string_view field = {}) {
  pl::RequestHead head;
  head.method = "GET";
  head.target = target;
  head.host = "movies.example";
  head.filibuster = field;
  return head;
}

pl::Incoming* receive(const pl::RequestHead& head, bool multiplexed = false) {
  return pl::incoming_begin({&head, multiplexed});
}

pl::OutgoingCall call_movies(std::string_view target, Hash128 connect_key = {},
                             std::string_view field = {}) {
  const pl::RequestHead head = get(target, field);
  const sockaddr_in to = address_of(kMoviesPort);
  pl::OutgoingInfo info;
  info.head = &head;
  info.target = pl::lookup_target(generic(to), sizeof to);
  info.peer = "127.0.0.1:5001";
  info.body_complete = true;
  info.body = hash_text("");
  info.opens_connection = !connect_key.is_zero();
  info.connect_key = connect_key;
  pl::OutgoingCall call;
  pl::outgoing_begin(info, &call);
  return call;
}

void answer(pl::OutgoingCall* call, uint16_t status = 200) {
  RpcFinished finished;
  finished.status = status;
  pl::outgoing_end(call, finished);
}

std::string_view header_value(const pl::OutgoingCall& call) {
  return {call.header_line + kHeaderName.size() + 2, kHeaderValueSize};
}

int wait_child(pid_t pid) {
  int status = 0;
  check(waitpid(pid, &status, 0) == pid && WIFEXITED(status), "the child exits");
  return WEXITSTATUS(status);
}

// --- scenarios ----------------------------------------------------------------------------------

void serves_one_request() {
  check(pl::executing(), "an execution runs");
  const pl::RequestHead head = get("/bookings/1?x=2");
  pl::Incoming* incoming = receive(head);
  check(incoming != nullptr, "the incoming request is known");
  pl::OutgoingCall call = call_movies("/movies/1");
  check(call.active && !call.faulted, "the RPC is open");
  check(call.insert_header && !call.overwrite_header, "movies is told");
  RpcContext context;
  check(decode_header_value(header_value(call), &context) && context.rpc == call.rpc &&
            context.path == call.index && context.execution == call.execution,
        "the field names the RPC");
  answer(&call, 200);
  pl::OutgoingCall again = call_movies("/movies/1");
  check(again.count == 2 || again.stack != call.stack, "the second of its kind, or another site");
  answer(&again, 200);
  pl::incoming_end(incoming, 200);
  pl::OutgoingCall after = call_movies("/heartbeat");
  check(after.active, "an RPC without a cause is open too");
  answer(&after);
}

void is_the_test() {
  pl::OutgoingCall call = call_movies("/movies/1");
  check(call.active, "the RPC is open");
  answer(&call);
}

// The fault that is planned for GET /movies/1 by index; prints what it got.
void meets_a_fault() {
  const pl::RequestHead head = get("/bookings/1?x=2");
  pl::Incoming* incoming = receive(head);
  pl::OutgoingCall call = call_movies("/movies/1");
  check(call.faulted, "the plan holds its fault");
  char response[512];
  const size_t size = pl::plan_blob(call.plan, false, response, sizeof response);
  check(size > 12 && std::string_view(response, size).starts_with("HTTP/1.1 503"), "its response");
  pl::report_fault(call, FaultHow::kInjected, "");
  RpcFinished finished;
  finished.status = 503;
  finished.injected = 1;
  pl::outgoing_end(&call, finished);
  pl::incoming_end(incoming, 500);
}

void connects_then_calls() {
  const pl::RequestHead head = get("/bookings/1");
  pl::Incoming* incoming = receive(head);
  const sockaddr_in to = address_of(kMoviesPort);
  for (int i = 0; i < 2; ++i) {
    const pl::ConnectDecision decision = pl::connect_begin(generic(to), sizeof to);
    check(!decision.key.is_zero(), "the connect has a name");
    if (decision.refuse) continue;
    pl::connect_result(decision, generic(to), sizeof to, 0);
    pl::OutgoingCall call = call_movies("/movies/1", decision.key);
    answer(&call);
    break;
  }
  pl::incoming_end(incoming, 200);
}

// 127.0.0.2 is an address of the same name: it shares the refusal.
void tries_two_addresses() {
  const pl::RequestHead head = get("/bookings/1");
  pl::Incoming* incoming = receive(head);
  const sockaddr_in first = address_of(kMoviesPort);
  const sockaddr_in second = address_of(kMoviesPort, INADDR_LOOPBACK + 1);
  const pl::ConnectDecision one = pl::connect_begin(generic(first), sizeof first);
  const pl::ConnectDecision two = pl::connect_begin(generic(second), sizeof second);
  check(one.key == two.key && one.refuse == two.refuse, "both tries are one connect");
  pl::incoming_end(incoming, 200);
}

void forks_in_a_handler() {
  const pl::RequestHead head = get("/bookings/1");
  pl::Incoming* incoming = receive(head);
  pl::OutgoingCall open = call_movies("/movies/1");
  const pid_t child = fork();
  if (child == 0) {
    pl::after_fork_in_child();
    pl::OutgoingCall call = call_movies("/from-child");
    check(call.active, "the child registers by itself");
    check(call.rpc >> 32 != open.rpc >> 32, "under an id of its own");
    answer(&call);
    answer(&open);  // its copies: not its to end
    pl::incoming_end(incoming, 500);
    _exit(g_failures);
  }
  g_failures += wait_child(child);
  answer(&open);
  pl::incoming_end(incoming, 200);
}

void vfork_children_pass_through() {
  const pid_t child = vfork();
  if (child == 0) {
    const bool mine = pl::own_process() || pl::executing();
    _exit(mine ? 1 : 0);
  }
  check(wait_child(child) == 0, "a vfork child is not this process");
  check(pl::executing(), "and left everything as it was");
}

void reports_its_listeners() {
  // Listens before the first use of the agent, as under a session that began later.
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = address_of(0);
  socklen_t size = sizeof address;
  check(::bind(fd, generic(address), size) == 0 && ::listen(fd, 1) == 0, "listens");
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  check(pl::attached(), "registers");
  check(::dup2(1, 3) == 3, "");
  for (int i = 0; i < 200; ++i) {
    if (pl::lookup_target(generic(address), sizeof address).known) break;
    usleep(10'000);
  }
  check(pl::lookup_target(generic(address), sizeof address).name() == "users", "is a target now");
}

void moves_its_descriptors() {
  check(pl::attached(), "registers");
  int own = -1;
  for (int fd = 0; fd < 1024; ++fd) {
    if (!pl::is_own_descriptor(fd)) continue;
    check(fd >= 48, "ours are high");
    own = fd;
  }
  check(own >= 0, "one is ours");
  check(pl::relocate_own_descriptor(own) && !pl::is_own_descriptor(own), "it moves away");
  pl::OutgoingCall call = call_movies("/x");
  int pair[2];
  check(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "a pair");
  check(pl::hand_off(call, HandOffKind::kSilence, false, pair[0], -1), "the daemon takes it");
  check(fcntl(pair[0], F_GETFD) == -1, "and ours is closed");
}

void forged_fields_are_ignored() {
  const pl::RequestHead head = get("/bookings/1", "1-damaged");
  pl::Incoming* incoming = receive(head);
  check(incoming != nullptr, "it is served as a request without a field");
  pl::incoming_end(incoming, 200);
}

void forwards_the_field() {
  const pl::RequestHead head = get("/bookings/1");
  pl::Incoming* incoming = receive(head, true);
  pl::OutgoingCall first = call_movies("/movies/1");
  pl::OutgoingCall second = call_movies("/movies/2", {}, header_value(first));
  check(second.overwrite_header && !second.insert_header, "its value is replaced in place");
  check(second.parent_path == first.index, "it proves its cause");
  answer(&second);
  answer(&first);
  pl::incoming_end(incoming, 200);
}

// What one process sends between executions, another one receives in the next.
const char* carrier() {
  return std::getenv("FILIBUSTER_TEST_CARRIER");
}

void calls_between_executions() {
  check(pl::attached() && !pl::executing(), "a session, no execution");
  pl::OutgoingCall call = call_movies("/movies/1");
  check(!call.active && call.insert_header, "no RPC of an execution, and it says so");
  check(!call_movies("/movies/1", {}, header_value(call)).insert_header, "one field is enough");
  std::ofstream(carrier()) << header_value(call);
}

void receives_what_was_sent_before() {
  std::string value;
  std::getline(std::ifstream(carrier()), value);
  const pl::RequestHead head = get("/movies/1", value);
  pl::Incoming* incoming = receive(head);
  check(incoming != nullptr && incoming->late && !incoming->entry, "no entry of this execution");
  pl::OutgoingCall call = call_movies("/movies/2");
  check(call.active && (call.flags & kRpcLate) != 0 && !call.faulted, "nor what it causes");
  answer(&call);
  pl::incoming_end(incoming, 200);
}

void body_comes_later() {
  pl::RequestHead head = get("/bookings");
  head.method = "POST";
  head.has_body = true;
  head.body_size = 5;
  pl::Incoming* incoming = receive(head);
  pl::incoming_body_complete(incoming, hash_text("hello"), 5);
  pl::OutgoingInfo info;
  info.head = &head;
  info.body_complete = false;
  info.peer = "10.0.0.1:80";
  pl::OutgoingCall call;
  pl::outgoing_begin(info, &call);
  check((call.flags & kRpcPreliminary) != 0 && !call.insert_header, "preliminary, a third party");
  const Hash128 before = call.index;
  pl::outgoing_body_complete(&call, hash_text("hello"));
  check(call.index != before, "the payload takes part");
  answer(&call);
  pl::incoming_end(incoming, 201);
}

void has_no_session() {
  check(!pl::session_present() && !pl::attached() && !pl::executing(), "no session");
  check(receive(get("/")) == nullptr && !call_movies("/").active, "everything passes");
}

void meets_a_mute_daemon() {
  const auto start = std::chrono::steady_clock::now();
  check(pl::session_present() && !pl::attached(), "not registered");
  const auto once = std::chrono::steady_clock::now();
  check(once - start < milliseconds(3000), "the wait is bounded");
  for (int i = 0; i < 1000; ++i) check(!pl::attached(), "inert");
  check(std::chrono::steady_clock::now() - once < milliseconds(500), "and never waits again");
}

const std::map<std::string, void (*)()>& scenarios() {
  static const std::map<std::string, void (*)()> table = {
      {"serves_one_request", serves_one_request},
      {"is_the_test", is_the_test},
      {"meets_a_fault", meets_a_fault},
      {"connects_then_calls", connects_then_calls},
      {"tries_two_addresses", tries_two_addresses},
      {"forks_in_a_handler", forks_in_a_handler},
      {"vfork_children_pass_through", vfork_children_pass_through},
      {"reports_its_listeners", reports_its_listeners},
      {"moves_its_descriptors", moves_its_descriptors},
      {"forged_fields_are_ignored", forged_fields_are_ignored},
      {"forwards_the_field", forwards_the_field},
      {"calls_between_executions", calls_between_executions},
      {"receives_what_was_sent_before", receives_what_was_sent_before},
      {"body_comes_later", body_comes_later},
      {"has_no_session", has_no_session},
      {"meets_a_mute_daemon", meets_a_mute_daemon},
  };
  return table;
}

// Before gtest's main: this process is a service, not a test.
__attribute__((constructor(65535))) void play() {
  const char* name = std::getenv("FILIBUSTER_TEST_SCENARIO");
  if (name == nullptr) return;
  pl::note_stream_socket();
  scenarios().at(name)();
  _exit(g_failures);
}

// --- the tests ----------------------------------------------------------------------------------

class Session : public ::testing::Test {
 protected:
  void SetUp() override {
    auto started = AgentHub::start(hub_options(scratch_));
    ASSERT_TRUE(started.ok()) << started.error().message;
    hub_ = std::move(started).value();
    TargetRow movies;
    movies.host = "127.0.0.1";
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

TEST_F(Session, AnRpcIsFiledUnderTheRequestThatItsThreadReads) {
  const ExecutionRecord record = execute("serves_one_request");
  const RpcRecord* entry = find(record, "/bookings/1?x=2");
  const RpcRecord* call = find(record, "/movies/1");
  const RpcRecord* stray = find(record, "/heartbeat");
  ASSERT_TRUE(entry != nullptr && call != nullptr && stray != nullptr);
  EXPECT_EQ(entry->cause, Cause::kEntry);
  EXPECT_EQ(entry->status, 200);
  EXPECT_EQ(call->cause, Cause::kThread);
  EXPECT_EQ(call->parent, entry->index);
  EXPECT_EQ(call->parent_rpc, entry->rpc);
  EXPECT_EQ(call->service, "movies");
  EXPECT_EQ(call->caller, "users");
  EXPECT_FALSE(call->stack_text.empty());
  EXPECT_EQ(stray->cause, Cause::kNone);
}

TEST_F(Session, AnIndexIsTheSameInEveryProcess) {
  const ExecutionRecord first = execute("serves_one_request");
  const ExecutionRecord second = execute("serves_one_request");
  ASSERT_EQ(first.rpcs.size(), second.rpcs.size());
  for (size_t i = 0; i < first.rpcs.size(); ++i)
    EXPECT_EQ(first.rpcs[i].index, second.rpcs[i].index) << first.rpcs[i].target;
}

TEST_F(Session, CallsOfTheTestAreEntries) {
  const ExecutionRecord record = execute("is_the_test", {}, "test");
  ASSERT_EQ(record.rpcs.size(), 1u);
  EXPECT_EQ(record.rpcs[0].cause, Cause::kEntry);
  EXPECT_TRUE(record.rpcs[0].parent.is_zero());
}

TEST_F(Session, APlannedFaultMeetsItsRpc) {
  PlannedRpcFault none;
  none.index = key(1);
  none.fault = parse_fault("status:503").value();
  ASSERT_TRUE(hub_->begin_execution(++execution_, {none}).ok());
  // Its checks do not hold, which it also prints.
  EXPECT_GT(run("meets_a_fault", hub_->address(), "users"), 0) << "planned for another RPC";
  ASSERT_TRUE(hub_->wait_quiescent(milliseconds(5000)));
  const ExecutionRecord seen = hub_->end_execution();
  const RpcRecord* call = find(seen, "/movies/1");
  ASSERT_NE(call, nullptr);

  PlannedRpcFault planned = none;
  planned.index = call->index;
  const ExecutionRecord record = execute("meets_a_fault", {planned});
  EXPECT_TRUE(record.not_injected.empty());
  const RpcRecord* faulted = find(record, "/movies/1");
  ASSERT_NE(faulted, nullptr);
  EXPECT_TRUE(faulted->injected);
}

PlannedRpcFault refusal_of(const RpcRecord& rpc) {
  PlannedRpcFault planned;
  planned.index = rpc.index;
  planned.fault = parse_fault("refused").value();
  planned.opens_connection = true;
  planned.connect_key = rpc.connect_key;
  planned.signature = rpc.signature;
  planned.parent = rpc.parent;
  planned.count = rpc.count;
  return planned;
}

TEST_F(Session, ARefusalIsInjectedAtTheConnectAndTheRetryIsTheNextInvocation) {
  const ExecutionRecord reference = execute("connects_then_calls");
  const RpcRecord* call = find(reference, "/movies/1");
  ASSERT_NE(call, nullptr);
  ASSERT_FALSE(call->connect_key.is_zero());
  const ExecutionRecord record = execute("connects_then_calls", {refusal_of(*call)});
  EXPECT_TRUE(record.not_injected.empty());
  ASSERT_EQ(record.rpcs.size(), 3u);  // entry, refused, retry
  const RpcRecord& refused = record.rpcs[1];
  EXPECT_TRUE(refused.injected);
  EXPECT_EQ(refused.index, call->index);
  EXPECT_EQ(refused.outcome, RpcOutcome::kRefused);
  EXPECT_EQ(refused.parent, call->parent);
  EXPECT_EQ(record.rpcs[2].count, 2u);
  EXPECT_NE(record.rpcs[2].index, call->index);
}

TEST_F(Session, AddressesOfOneNameAreOneConnect) {
  execute("tries_two_addresses");
}

TEST_F(Session, AForkedChildRegistersAndKnowsItsCause) {
  const ExecutionRecord record = execute("forks_in_a_handler");
  const RpcRecord* entry = find(record, "/bookings/1");
  const RpcRecord* call = find(record, "/from-child");
  ASSERT_TRUE(entry != nullptr && call != nullptr);
  EXPECT_EQ(call->cause, Cause::kThread);
  EXPECT_EQ(call->parent, entry->index);
  EXPECT_NE(call->pid, entry->pid);
  EXPECT_EQ(entry->status, 200) << "the parent's answer, not the child's";
}

TEST_F(Session, AVforkChildTouchesNothing) {
  execute("vfork_children_pass_through");
}
TEST_F(Session, SocketsThatListenAlreadyAreReported) {
  execute("reports_its_listeners");
}
TEST_F(Session, OwnDescriptorsMoveOutOfTheWay) {
  EXPECT_TRUE(hub_->begin_execution(++execution_, {}).ok());
  EXPECT_EQ(run("moves_its_descriptors", hub_->address(), "users"), 0);
  hub_->end_execution();
}

TEST_F(Session, ADamagedFieldIsSaidAndIgnored) {
  const ExecutionRecord record = execute("forged_fields_are_ignored");
  ASSERT_EQ(record.rpcs.size(), 1u);
  EXPECT_EQ(record.rpcs[0].cause, Cause::kEntry);
  ASSERT_EQ(record.notes.size(), 1u);
  EXPECT_NE(record.notes[0].find("damaged"), std::string::npos);
  EXPECT_EQ(record.damaged_fields, 1u);
  EXPECT_EQ(execute("reports_its_listeners").damaged_fields, 0u) << "of the execution before";
}

TEST_F(Session, AForwardedFieldProvesTheCause) {
  const ExecutionRecord record = execute("forwards_the_field");
  const RpcRecord* first = find(record, "/movies/1");
  const RpcRecord* second = find(record, "/movies/2");
  ASSERT_TRUE(first != nullptr && second != nullptr);
  EXPECT_EQ(first->cause, Cause::kOnlyActive) << "an event loop: the thread proves nothing";
  EXPECT_EQ(second->cause, Cause::kHeader);
  EXPECT_EQ(second->parent_rpc, first->rpc);
}

TEST_F(Session, WhatWasSentBetweenExecutionsIsOfNone) {
  const std::string file = scratch_.path() + "/carrier";
  ASSERT_EQ(::setenv("FILIBUSTER_TEST_CARRIER", file.c_str(), 1), 0);
  EXPECT_EQ(run("calls_between_executions", hub_->address(), "users"), 0);
  const ExecutionRecord record = execute("receives_what_was_sent_before");
  EXPECT_TRUE(record.rpcs.empty());
  EXPECT_EQ(record.late_calls.size(), 1u);
  EXPECT_EQ(record.late.size(), 1u);
  // Also before the first, and after several.
  for (int i = 0; i < 2; ++i) execute("serves_one_request");
  EXPECT_EQ(run("calls_between_executions", hub_->address(), "users"), 0);
  EXPECT_TRUE(execute("receives_what_was_sent_before").rpcs.empty());
}

TEST_F(Session, APreliminaryIndexIsFinalised) {
  const ExecutionRecord record = execute("body_comes_later");
  ASSERT_EQ(record.rpcs.size(), 2u);
  for (const RpcRecord& rpc : record.rpcs) EXPECT_EQ(rpc.flags & kRpcPreliminary, 0);
  EXPECT_EQ(record.rpcs[1].parent, record.rpcs[0].index);
}

TEST_F(Session, WithoutADaemonEverythingPasses) {
  EXPECT_EQ(run("has_no_session", "unix:/nonexistent/agent.sock", "users"), 0);
}

TEST_F(Session, ADaemonThatDoesNotAnswerIsWaitedForOnce) {
  const std::string directory = scratch_.path() + "/mute";
  std::filesystem::create_directory(directory);
  const std::string path = directory + "/agent.sock";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(socket.get(), 4), 0);
  ControlPage page{};
  page.magic = kControlMagic;
  page.major = kProtocolMajor;
  page.generation.store(1);
  std::memcpy(page.socket_path, path.data(), path.size());
  UniqueFd file(::open((directory + "/control").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::pwrite(file.get(), &page, sizeof page, 0), static_cast<ssize_t>(sizeof page));
  ASSERT_EQ(::ftruncate(file.get(), 4096), 0);
  EXPECT_EQ(run("meets_a_mute_daemon", "unix:" + path, "users"), 0);
}

TEST_F(Session, WithADeadDaemonEverythingPasses) {
  const std::string address = hub_->address();
  hub_.reset();
  EXPECT_EQ(run("has_no_session", address, "users"), 0);
}

}  // namespace
}  // namespace filibuster::test
