// The agent in processes of its own, against a real hub: registration, indexes, plan, forks.
//
// This program starts itself again with FILIBUSTER_TEST_SCENARIO: that process plays a service
// through agent.h, as the hooks would, and exits with the number of checks that failed.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <thread>

#include "core/protocol/control_segment.h"
#include "preload/rpc/agent.h"
#include "preload/rpc/causality.h"
#include "preload/session/state.h"
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

pl::OutgoingCall call_movies(std::string_view target, pl::ConnectName connect = {},
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

// Until that thread of this process sleeps in the kernel.
void wait_until_sleeping(pid_t thread) {
  const std::string path = "/proc/self/task/" + std::to_string(thread) + "/stat";
  for (;;) {
    std::ifstream stat(path);
    std::string text((std::istreambuf_iterator<char>(stat)), {});
    if (text.substr(text.rfind(')') + 2, 1) == "S") return;
    std::this_thread::yield();
  }
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
    check(!decision.name.key.is_zero(), "the connect has a name");
    if (decision.refuse) continue;
    pl::connect_result(decision, generic(to), sizeof to, 0);
    pl::OutgoingCall call = call_movies("/movies/1", decision.name);
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
  check(one.name.group == two.name.group && one.refuse == two.refuse, "both tries are one connect");
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

// What one process leaves for another one, or for the test.
const char* carrier() {
  return std::getenv("FILIBUSTER_TEST_CARRIER");
}

std::string field_of(const RpcContext& context) {
  std::string field(kHeaderValueSize, '\0');
  encode_header_value(context, field.data());
  return field;
}

// A context as this process's own RPCs carry it, of another path.
RpcContext own_context() {
  pl::OutgoingCall call = call_movies("/movies/0");
  RpcContext context;
  check(decode_header_value(header_value(call), &context), "a field");
  answer(&call);
  context.path = {7, 7};
  return context;
}

void meets_fields_of_others() {
  const RpcContext own = own_context();
  check(call_movies("/movies/1", {}, field_of(own)).parent_path == own.path, "a control");
  RpcContext others[3] = {own, own, own};
  ++others[0].session;
  ++others[1].lane;
  ++others[2].execution;  // one to come
  for (const RpcContext& other : others) {
    const std::string field = field_of(other);
    const pl::RequestHead head = get("/bookings/1", field);
    pl::Incoming* incoming = receive(head);
    check(incoming != nullptr && incoming->entry, "served as a request without a field");
    pl::incoming_end(incoming, 200);
    RuntimeField of_helper;
    of_helper.cause_known = of_helper.has_cause = true;
    of_helper.cause = other;
    std::string carried(kRuntimeValueSize, '\0');
    encode_runtime_value(of_helper, carried.data());
    for (const std::string& forwarded : {field, carried}) {
      pl::OutgoingCall call = call_movies("/movies/2", {}, forwarded);
      check(call.active && call.parent_path != other.path, "no proof of a cause");
      check(call.overwrite_header, "overruled");
      answer(&call);
    }
  }
}

// Of the execution before, or of this one; planned or not.
void serves_what_is_late() {
  const bool late = std::getenv("FILIBUSTER_TEST_LATE") != nullptr;
  RpcContext context = own_context();
  if (late) --context.execution;
  const std::string field = field_of(context);
  const pl::RequestHead head = get("/bookings/1", field);
  pl::Incoming* incoming = receive(head);
  check(incoming != nullptr && incoming->late == late, "it says of which execution it is");
  const sockaddr_in to = address_of(kMoviesPort);
  const pl::ConnectDecision decision = pl::connect_begin(generic(to), sizeof to);
  check(decision.name.key.is_zero() == late, "nor is a refusal planned for it");
  pl::OutgoingCall call = call_movies("/movies/1");
  check(call.parent_path == context.path, "its cause");
  if (call.faulted) pl::report_fault(call, FaultHow::kInjected, "");
  std::ofstream(carrier()) << (call.faulted ? "faulted " : "passed ") << to_hex(call.index);
  answer(&call);
  pl::incoming_end(incoming, 200);
}

// Twice from one place; a connection is opened before the one of that number.
void opens_a_connection_for_one_of_two() {
  const int opens = std::atoi(std::getenv("FILIBUSTER_TEST_OPEN"));
  const pl::RequestHead head = get("/bookings/1");
  pl::Incoming* incoming = receive(head);
  const sockaddr_in to = address_of(kMoviesPort);
  for (int n = 1; n <= 2; ++n) {
    pl::ConnectDecision decision;
    if (n == opens) decision = pl::connect_begin(generic(to), sizeof to);
    if (decision.refuse) continue;
    pl::OutgoingCall call = call_movies("/movies/1", decision.name);
    if (call.faulted) pl::report_fault(call, FaultHow::kInjected, "");
    answer(&call);
  }
  pl::incoming_end(incoming, 200);
}

void forged_fields_are_ignored() {
  const pl::RequestHead head = get("/bookings/1", "1-damaged");
  pl::Incoming* incoming = receive(head);
  check(incoming != nullptr, "it is served as a request without a field");
  pl::incoming_end(incoming, 200);
}

// As many as the environment says, by an event loop; then one call.
void calls_while_some_are_open() {
  std::vector<pl::Incoming*> open;
  const pl::RequestHead head = get("/bookings/1");
  const int number = std::atoi(std::getenv("FILIBUSTER_TEST_OPEN"));
  check(pl::attached(), "a session");
  while (open.size() < static_cast<size_t>(number)) open.push_back(receive(head, true));
  pl::OutgoingCall call = call_movies("/movies/1");
  answer(&call);
  for (pl::Incoming* incoming : open) pl::incoming_end(incoming, 200);
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

void calls_before_and_after_its_body() {
  pl::RequestHead head = get("/bookings");
  head.method = "POST";
  head.has_body = true;
  head.body_size = 5;
  pl::Incoming* incoming = receive(head);
  for (const bool body_is_there : {false, true}) {
    if (body_is_there) pl::incoming_body_complete(incoming, hash_text("hello"), 5);
    pl::OutgoingCall call = call_movies("/movies/1");
    check(call.active && call.count == (body_is_there ? 2 : 1), "counted under one request");
    answer(&call);
  }
  pl::incoming_end(incoming, 201);
}

// Every buffer for a call stack is with other threads of this process.
struct AllBuffersTaken {
  std::vector<std::unique_ptr<pl::Scratch>> taken;
  AllBuffersTaken() {
    for (;;) {
      auto one = std::make_unique<pl::Scratch>();
      if (!*one) break;
      taken.push_back(std::move(one));
    }
    check(!taken.empty(), "there were some");
  }
};

void waits_for_a_buffer() {
  const pl::RequestHead head = get("/bookings");
  pl::Incoming* incoming = receive(head);
  Hash128 stacks[2];
  for (const bool crowded : {false, true}) {
    std::thread other;
    std::optional<AllBuffersTaken> all;
    if (crowded) {
      all.emplace();
      // Given back once this thread is in the middle of its call: it looks for a buffer, and naps.
      other = std::thread([&, waiting = gettid()] {
        wait_until_sleeping(waiting);
        all.reset();
      });
    }
    pl::OutgoingCall call = call_movies("/movies/1");
    stacks[crowded] = call.stack;
    if (crowded) other.join();
    answer(&call);
  }
  check(!stacks[0].is_zero() && stacks[0] == stacks[1], "the call stack is there, and the same");
  pl::incoming_end(incoming, 200);
}

void finds_no_buffer() {
  const pl::RequestHead head = get("/bookings");
  pl::Incoming* incoming = receive(head);
  {
    const AllBuffersTaken all;
    pl::OutgoingCall call = call_movies("/movies/1");
    check(call.active && call.stack.is_zero(), "the RPC is open, without a stack");
    answer(&call);
  }
  pl::incoming_end(incoming, 200);
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
      {"meets_fields_of_others", meets_fields_of_others},
      {"serves_what_is_late", serves_what_is_late},
      {"opens_a_connection_for_one_of_two", opens_a_connection_for_one_of_two},
      {"forwards_the_field", forwards_the_field},
      {"calls_while_some_are_open", calls_while_some_are_open},
      {"calls_between_executions", calls_between_executions},
      {"receives_what_was_sent_before", receives_what_was_sent_before},
      {"body_comes_later", body_comes_later},
      {"calls_before_and_after_its_body", calls_before_and_after_its_body},
      {"waits_for_a_buffer", waits_for_a_buffer},
      {"finds_no_buffer", finds_no_buffer},
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
  planned.connect_key = rpc.connect_key;
  planned.stack = rpc.stack;
  planned.service = rpc.service;
  planned.number = rpc.number;
  planned.service_number = rpc.service_number;
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

TEST_F(Session, AConnectIsRefusedOnlyWhereThePlannedRpcIsTheNextOfItsKind) {
  const auto refused_at_connect = [](const ExecutionRecord& record) {
    std::vector<uint32_t> counts;
    for (const RpcRecord& rpc : record.rpcs) {
      if ((rpc.flags & kRpcRefusedAtConnect) != 0) counts.push_back(rpc.count);
    }
    return counts;
  };
  ::setenv("FILIBUSTER_TEST_OPEN", "2", 1);
  const ExecutionRecord reference = execute("opens_a_connection_for_one_of_two");
  ASSERT_EQ(reference.rpcs.size(), 3u);
  const RpcRecord& second = reference.rpcs[2];
  ASSERT_EQ(second.count, 2u);
  ASSERT_FALSE(second.connect_key.is_zero());
  const std::vector<PlannedRpcFault> plan{refusal_of(second)};
  EXPECT_EQ(refused_at_connect(execute("opens_a_connection_for_one_of_two", plan)),
            (std::vector<uint32_t>{2}));
  // A pool that is cold this time: the same connect is the first one's.
  ::setenv("FILIBUSTER_TEST_OPEN", "1", 1);
  const ExecutionRecord other = execute("opens_a_connection_for_one_of_two", plan);
  EXPECT_TRUE(refused_at_connect(other).empty());
  ASSERT_EQ(other.rpcs.size(), 3u);
  EXPECT_FALSE(other.rpcs[1].injected);
  EXPECT_TRUE(other.rpcs[2].injected) << "with its request then";
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

TEST_F(Session, AFieldOfAnotherSessionOrLaneOrOfAnExecutionToComeIsDamaged) {
  const ExecutionRecord record = execute("meets_fields_of_others");
  EXPECT_EQ(record.damaged_fields, 9u);
}

TEST_F(Session, ThePlanIsNotForWhatIsLate) {
  const std::string file = scratch_.path() + "/carrier";
  ASSERT_EQ(::setenv("FILIBUSTER_TEST_CARRIER", file.c_str(), 1), 0);
  const auto outcome = [&](const std::vector<PlannedRpcFault>& plan) {
    execute("serves_what_is_late", plan);
    std::string line;
    std::getline(std::ifstream(file), line);
    return line;
  };
  const ExecutionRecord reference = execute("serves_what_is_late");
  const RpcRecord* call = find(reference, "/movies/1");
  ASSERT_NE(call, nullptr);
  PlannedRpcFault planned;
  planned.index = call->index;
  planned.fault = parse_fault("status:503").value();
  const std::string met = outcome({planned});
  ASSERT_TRUE(met.starts_with("faulted ")) << met;
  execute("reports_its_listeners");  // in which nothing was counted
  ASSERT_EQ(::setenv("FILIBUSTER_TEST_LATE", "1", 1), 0);
  EXPECT_EQ(outcome({planned}), "passed " + met.substr(8)) << "the same one, of the one before";
  ::unsetenv("FILIBUSTER_TEST_LATE");
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

TEST_F(Session, ConcurrencyUnderAFaultDoesNotBarACallSiteForTheSession) {
  const auto cause_with = [this](const char* open, bool faults) {
    PlannedRpcFault elsewhere;
    elsewhere.index = key(1);
    elsewhere.fault = parse_fault("status:503").value();
    ::setenv("FILIBUSTER_TEST_OPEN", open, 1);
    const ExecutionRecord record = execute("calls_while_some_are_open",
                                           std::vector<PlannedRpcFault>(faults ? 1 : 0, elsewhere));
    const RpcRecord* call = find(record, "/movies/1");
    return call == nullptr ? Cause::kHeader : call->cause;
  };
  EXPECT_EQ(cause_with("1", false), Cause::kOnlyActive);
  EXPECT_EQ(cause_with("2", true), Cause::kNone);
  EXPECT_EQ(cause_with("1", true), Cause::kOnlyActive);
  EXPECT_EQ(cause_with("2", false), Cause::kNone);
  EXPECT_EQ(cause_with("1", true), Cause::kNone) << "seen so without a fault";
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

TEST_F(Session, CallsBeforeAndAfterTheBodyOfAnEntryHaveIndexesOfTheirOwn) {
  const ExecutionRecord record = execute("calls_before_and_after_its_body");
  ASSERT_EQ(record.rpcs.size(), 3u);
  EXPECT_EQ(record.rpcs[1].parent, record.rpcs[0].index);
  EXPECT_EQ(record.rpcs[2].parent, record.rpcs[0].index);
  EXPECT_NE(record.rpcs[1].index, record.rpcs[2].index);
}

TEST_F(Session, ACallThatFindsEveryBufferTakenWaitsForItsCallStack) {
  execute("waits_for_a_buffer");
}

TEST_F(Session, ACallWithoutItsCallStackMakesTheExecutionIncomplete) {
  EXPECT_TRUE(hub_->begin_execution(1, {}).ok());
  EXPECT_EQ(run("finds_no_buffer", hub_->address(), "users"), 0);
  const ExecutionRecord record = hub_->end_execution();
  EXPECT_GT(record.lost_events, 0u);
  EXPECT_TRUE(std::any_of(record.notes.begin(), record.notes.end(), [](const std::string& note) {
    return note.find("has no call stack") != std::string::npos;
  }));
}

TEST_F(Session, WithoutADaemonEverythingPasses) {
  EXPECT_EQ(run("has_no_session", "unix:/nonexistent/agent.sock", "users"), 0);
}

TEST_F(Session, ADaemonThatDoesNotAnswerIsWaitedForOnce) {
  const std::string directory = scratch_.path() + "/mute";
  ASSERT_EQ(::mkdir(directory.c_str(), 0700), 0);
  const std::string path = directory + "/agent.sock";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(socket.get(), 4), 0);
  UniqueFd opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ControlPage* page = ControlSegment(SystemCall(), opened.get(), ControlPageName(""), true).open();
  ASSERT_NE(page, nullptr);
  page->major = kProtocolMajor;
  std::memcpy(page->slots[0].socket_path, path.data(), path.size());
  page->slots[0].generation.store(2);
  page->generation.store(3);
  EXPECT_EQ(run("meets_a_mute_daemon", "unix:" + path, "users"), 0);
  ::shmdt(page);
}

TEST_F(Session, WithADeadDaemonEverythingPasses) {
  const std::string address = hub_->address();
  hub_.reset();
  EXPECT_EQ(run("has_no_session", address, "users"), 0);
}

}  // namespace
}  // namespace filibuster::test
