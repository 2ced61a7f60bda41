// A process and its session: registration, forks, descriptors, call stacks, and daemons that are not there.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <optional>
#include <thread>

#include "core/protocol/control_segment.h"
#include "preload/session/state.h"
#include "tests/unit/preload_agent/session_fixture.h"

namespace filibuster::test::session {
namespace {

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

int wait_child(pid_t pid) {
  int status = 0;
  check(waitpid(pid, &status, 0) == pid && WIFEXITED(status), "the child exits");
  return WEXITSTATUS(status);
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

constexpr Scenario kProcessScenarios[] = {
    {"serves_one_request", serves_one_request},
    {"is_the_test", is_the_test},
    {"forks_in_a_handler", forks_in_a_handler},
    {"vfork_children_pass_through", vfork_children_pass_through},
    {"reports_its_listeners", reports_its_listeners},
    {"moves_its_descriptors", moves_its_descriptors},
    {"waits_for_a_buffer", waits_for_a_buffer},
    {"finds_no_buffer", finds_no_buffer},
    {"has_no_session", has_no_session},
    {"meets_a_mute_daemon", meets_a_mute_daemon},
};
__attribute__((init_priority(200))) const Scenarios g_process_scenarios(kProcessScenarios);

// Before gtest's main: this process is a service, not a test.
__attribute__((constructor(65535))) void play_scenario() {
  const char* name = std::getenv("FILIBUSTER_TEST_SCENARIO");
  if (name == nullptr) return;
  const Scenario* scenario = Scenarios::find(name);
  if (scenario == nullptr) std::abort();
  pl::note_stream_socket();
  scenario->play();
  _exit(g_failures);
}

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
}  // namespace filibuster::test::session
