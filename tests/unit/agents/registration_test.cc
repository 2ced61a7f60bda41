#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "daemon/agents/registration.h"
#include "tests/unit/agents/fake_agent.h"

namespace filibuster::test {
namespace {

std::unique_ptr<AgentHub> start(const HubOptions& options) {
  auto hub = AgentHub::start(options);
  EXPECT_TRUE(hub.ok()) << (hub.ok() ? "" : hub.error().message);
  return hub.ok() ? std::move(hub).value() : nullptr;
}

SharedMapping<ControlPage> control_page(const std::string& path) {
  SharedMapping<ControlPage> page;
  const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_TRUE(fd.valid()) << path;
  EXPECT_TRUE(page.map(fd.get()));
  return page;
}

mode_t mode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
  return status.st_mode & 0777;
}

TEST(Registration, AnAgentThatSaysHelloGetsLaneMemoryAndARing) {
  Scratch scratch;
  auto hub = start(hub_options(scratch));
  FakeAgent agent(hub->address(), "users");
  ASSERT_TRUE(agent.registered());
  EXPECT_EQ(agent.welcome().magic, kWelcomeMagic);
  EXPECT_EQ(agent.welcome().refused, 0u);
  EXPECT_NE(agent.welcome().generation, 0u);
  EXPECT_EQ(agent.lane()->magic, kLaneMagic);
  EXPECT_EQ(agent.lane()->size, sizeof(LaneMemory));
  EXPECT_EQ(agent.lane()->session, 7u);
  EXPECT_EQ(agent.lane()->index_parts, static_cast<uint32_t>(kIndexAll));
  EXPECT_EQ(agent.lane()->state.load(), static_cast<uint32_t>(LaneState::kIdle));
  EXPECT_EQ(agent.ring()->magic, kRingMagic);
  EXPECT_TRUE(hub->has_agent(static_cast<uint32_t>(::getpid())));
  ASSERT_EQ(hub->agents().size(), 1u);
  EXPECT_EQ(hub->agents()[0].service, "users");
  EXPECT_FALSE(hub->has_agent(1));
}

TEST(Registration, AgentsHaveDifferentIds) {
  Scratch scratch;
  auto hub = start(hub_options(scratch));
  FakeAgent a(hub->address(), "users");
  FakeAgent b(hub->address(), "users");
  ASSERT_TRUE(a.registered() && b.registered());
  EXPECT_NE(a.welcome().agent, b.welcome().agent);
  EXPECT_NE(a.welcome().agent, 0u);
}

TEST(Registration, AnAgentOfAnotherMajorVersionIsRefusedAndNamed) {
  Scratch scratch;
  auto hub = start(hub_options(scratch));
  FakeAgent agent(hub->address());
  Hello hello;
  hello.major = kProtocolMajor + 1;
  ASSERT_TRUE(agent.say_hello(hello));
  EXPECT_EQ(agent.welcome().refused, static_cast<uint32_t>(Refusal::kVersion));
  EXPECT_FALSE(agent.registered());
  EXPECT_TRUE(agent.at_end());
  ASSERT_TRUE(hub->begin_execution(1, {}).ok());
  EXPECT_TRUE(any_contains(hub->end_execution().notes, "pid " + std::to_string(::getpid())));
}

TEST(Registration, AnAgentOfAnotherLaneIsRefused) {
  Scratch scratch;
  auto hub = start(hub_options(scratch));
  FakeAgent agent(hub->address());
  Hello hello;
  hello.lane = 3;
  ASSERT_TRUE(agent.say_hello(hello));
  EXPECT_EQ(agent.welcome().refused, static_cast<uint32_t>(Refusal::kLane));
}

TEST(Registration, AnAgentThatNoLongerWaitsIsNamedAndItsExecutionIncomplete) {
  Scratch scratch;
  auto hub = start(hub_options(scratch));
  ASSERT_TRUE(hub->begin_execution(1, {}).ok());
  FakeAgent agent(hub->address());
  agent.stop_listening();
  const Hello hello;
  ASSERT_TRUE(agent.send_bytes(&hello, sizeof hello));
  const std::string who = "pid " + std::to_string(::getpid());
  const auto noted = [&] {
    return any_contains(hub->snapshot(StackLines::kOfAll).notes, "no longer waited");
  };
  ASSERT_TRUE(eventually(noted));
  const ExecutionRecord record = hub->end_execution();
  EXPECT_TRUE(any_contains(record.notes, who));
  EXPECT_GT(record.lost_events, 0u);
  EXPECT_FALSE(hub->has_agent(static_cast<uint32_t>(::getpid())));
}

TEST(Registration, GarbageEndsTheConnectionAndNothingElse) {
  Scratch scratch;
  auto hub = start(hub_options(scratch));
  for (const size_t size : {size_t{1}, size_t{8}, sizeof(Hello), size_t{5000}}) {
    FakeAgent agent(hub->address());
    const std::string garbage(size, 'x');
    ASSERT_TRUE(agent.send_bytes(garbage.data(), garbage.size()));
    EXPECT_TRUE(agent.at_end());
  }
  FakeAgent good(hub->address(), "users");
  EXPECT_TRUE(good.registered());
}

TEST(Registration, SharedMemoryCannotBeShrunkByAnAgent) {
  Scratch scratch;
  auto hub = start(hub_options(scratch));
  FakeAgent agent(hub->address(), "users");
  ASSERT_TRUE(agent.registered());
  EXPECT_NE(::ftruncate(agent.lane_fd(), 0), 0);
  EXPECT_NE(::ftruncate(agent.ring_fd(), 0), 0);
}

TEST(ControlPages, ArePrivateAndNameTheSocketUntilTheEnd) {
  Scratch scratch;
  const HubOptions options = hub_options(scratch);
  auto hub = start(options);
  EXPECT_EQ(hub->address(), "unix:" + options.directory + "/agent.sock");
  EXPECT_EQ(mode_of(options.directory), 0700u);
  EXPECT_EQ(mode_of(options.directory + "/control"), 0600u);
  EXPECT_EQ(mode_of(options.directory + "/agent.sock"), 0600u);
  EXPECT_EQ(mode_of(options.user_directory), 0700u);
  const auto own = control_page(options.directory + "/control");
  const auto user = control_page(options.user_directory + "/control");
  for (const auto* page : {own.get(), user.get()}) {
    EXPECT_EQ(page->magic, kControlMagic);
    EXPECT_EQ(page->major, kProtocolMajor);
    EXPECT_EQ(page->daemon_pid, static_cast<uint32_t>(::getpid()));
    EXPECT_NE(page->generation.load(), 0u);
    EXPECT_STREQ(page->socket_path, (options.directory + "/agent.sock").c_str());
  }
  hub.reset();
  EXPECT_EQ(own->generation.load(), 0u);
  EXPECT_EQ(user->generation.load(), 0u);
  EXPECT_NE(::access((options.directory + "/agent.sock").c_str(), F_OK), 0);
}

TEST(ControlPages, TheUsersPageBelongsToTheHubThatWroteItLast) {
  Scratch scratch;
  HubOptions options = hub_options(scratch);
  auto first = start(options);
  const auto user = control_page(options.user_directory + "/control");
  const uint64_t before = user->generation.load();
  HubOptions second_options = options;
  second_options.directory = scratch.path() + "/second";
  auto second = start(second_options);
  EXPECT_NE(user->generation.load(), before);
  EXPECT_STREQ(user->socket_path, (second_options.directory + "/agent.sock").c_str());
  const uint64_t taken = user->generation.load();
  first.reset();
  EXPECT_EQ(user->generation.load(), taken);
  second.reset();
  EXPECT_EQ(user->generation.load(), 0u);
}

TEST(ControlPages, TwoHubsNeverShareADirectory) {
  Scratch scratch;
  auto first = start(hub_options(scratch));
  const auto second = AgentHub::start(hub_options(scratch));
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find("another daemon"), std::string::npos);
  FakeAgent agent(first->address(), "users");
  EXPECT_TRUE(agent.registered());
}

TEST(ControlPages, ALinkInPlaceOfTheUsersPageIsNotFollowed) {
  Scratch scratch;
  const HubOptions options = hub_options(scratch);
  const std::string victim = scratch.path() + "/victim";
  ASSERT_EQ(::mkdir(options.user_directory.c_str(), 0700), 0);
  ASSERT_TRUE(UniqueFd(::open(victim.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600)).valid());
  ASSERT_EQ(::symlink(victim.c_str(), (options.user_directory + "/control").c_str()), 0);
  auto hub = start(options);  // works with its own page
  struct stat status {};
  ASSERT_EQ(::stat(victim.c_str(), &status), 0);
  EXPECT_EQ(status.st_size, 0);
  ASSERT_TRUE(hub->begin_execution(1, {}).ok());
  EXPECT_TRUE(any_contains(hub->end_execution().notes, "FILIBUSTER_DAEMON"));
}

TEST(ControlPages, ADirectoryTooDeepForASocketIsSaid) {
  Scratch scratch;
  HubOptions options = hub_options(scratch);
  options.directory = scratch.path() + "/" + std::string(120, 'd');
  const auto hub = AgentHub::start(options);
  ASSERT_FALSE(hub.ok());
  EXPECT_NE(hub.error().message.find("too long"), std::string::npos);
}

TEST(ReceiveMessage, OneThatComesWhileItLooksIsWhole) {
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
  constexpr int kMessages = 500'000;
  const char text[100] = {};
  std::thread writer([&] {
    for (int i = 0; i < kMessages; ++i) {
      if (::send(pair[1], text, sizeof text, MSG_NOSIGNAL) != sizeof text) break;
    }
    ::close(pair[1]);
  });
  int whole = 0, cut = 0;
  for (;;) {
    const filibuster::Message message = receive_message(pair[0]);
    if (message.state == Message::State::kEnd) break;
    if (message.state == Message::State::kNone) continue;
    const bool good = message.state == Message::State::kWhole && message.size == sizeof text;
    ++(good ? whole : cut);
  }
  writer.join();
  ::close(pair[0]);
  EXPECT_EQ(cut, 0);
  EXPECT_EQ(whole, kMessages);
}

}  // namespace
}  // namespace filibuster::test
