#include "daemon/agents/registration.h"

#include <fcntl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "core/program/entry_text.h"
#include "core/protocol/control_segment.h"
#include "tests/unit/agents/fake_agent.h"

namespace filibuster::test {
namespace {

std::unique_ptr<AgentHub> start(const HubOptions& options) {
  auto hub = AgentHub::start(options);
  EXPECT_TRUE(hub.ok()) << (hub.ok() ? "" : hub.error().message);
  return hub.ok() ? std::move(hub).value() : nullptr;
}

// The page that programs of an application find in this directory; attached for as long as the test
// runs.
ControlPage* control_page(const std::string& directory, const std::string& application = "",
                          bool writable = false) {
  const UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_TRUE(fd.valid()) << directory;
  return ControlSegment(SystemCall(), fd.get(), ControlPageName(application), writable).open();
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
    return any_contains(hub->snapshot(StackLines::kOfAll).notes, "gave up waiting");
  };
  ASSERT_TRUE(eventually(noted));
  const ExecutionRecord record = hub->end_execution();
  EXPECT_TRUE(any_contains(record.notes, who));
  EXPECT_GT(record.lost_events, 0u);
  EXPECT_FALSE(hub->has_agent(static_cast<uint32_t>(::getpid())));
}

// The hub hears nothing more of a process that lives on: its executions are incomplete until it ends.
void expect_incomplete(AgentHub* hub, uint32_t execution, const std::string& why) {
  if (execution > 1) {
    ASSERT_TRUE(hub->begin_execution(execution, {}).ok());
  }
  const ExecutionRecord record = hub->end_execution();
  EXPECT_GT(record.lost_events, 0u) << execution;
  EXPECT_TRUE(any_contains(record.notes, why)) << execution;
}

TEST(Registration, AnAgentThatGivesUpAfterTheWelcomeMakesExecutionsIncomplete) {
  Scratch scratch;
  auto hub = start(hub_options(scratch));
  ASSERT_TRUE(hub->begin_execution(1, {}).ok());
  FakeAgent agent(hub->address(), "users");
  ASSERT_TRUE(agent.registered());
  const GivenUp message;
  ASSERT_TRUE(agent.send_bytes(&message, sizeof message));
  agent.leave();
  ASSERT_TRUE(eventually([&] {
    return any_contains(hub->snapshot(StackLines::kOfAll).notes, "could not use its registration");
  }));
  expect_incomplete(hub.get(), 1, "users");
  expect_incomplete(hub.get(), 2, "not read any more");
}

TEST(Registration, AProcessThatIsHeardAgainMakesNoExecutionIncompleteAnyMore) {
  Scratch scratch;
  auto hub = start(hub_options(scratch));
  const GivenUp message;
  for (uint32_t times = 1; times <= 2; ++times) {
    FakeAgent agent(hub->address(), "users");
    ASSERT_TRUE(agent.registered());
    ASSERT_TRUE(agent.send_bytes(&message, sizeof message));
    agent.leave();
    ASSERT_TRUE(eventually([&] {
      return hub->agents().size() == times && !hub->has_agent(static_cast<uint32_t>(::getpid()));
    }));
    ASSERT_TRUE(hub->begin_execution(times, {}).ok());
    EXPECT_GT(hub->end_execution().lost_events, 0u);
  }
  FakeAgent agent(hub->address(), "users");
  ASSERT_TRUE(agent.registered());
  ASSERT_TRUE(eventually([&] { return hub->has_agent(static_cast<uint32_t>(::getpid())); }));
  ASSERT_TRUE(hub->begin_execution(3, {}).ok());
  EXPECT_EQ(hub->end_execution().lost_events, 0u);
  EXPECT_EQ(hub->agents().size(), 3u);
}

TEST(Registration, AProcessThatLosesItsSocketAndLivesOnMakesExecutionsIncomplete) {
  Scratch scratch;
  auto hub = start(hub_options(scratch));
  ASSERT_TRUE(hub->begin_execution(1, {}).ok());
  const pid_t child = ::fork();
  if (child == 0) {
    FakeAgent agent(hub->address(), "users");
    agent.leave();
    for (;;) ::pause();
  }
  EXPECT_TRUE(eventually([&] {
    return any_contains(hub->snapshot(StackLines::kOfAll).notes, "its process goes on");
  }));
  expect_incomplete(hub.get(), 1, "users");
  expect_incomplete(hub.get(), 2, "not read any more");
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  ASSERT_TRUE(hub->begin_execution(3, {}).ok());
  EXPECT_EQ(hub->end_execution().lost_events, 0u);
}

TEST(Registration, AProcessThatEndsLosesNothing) {
  Scratch scratch;
  auto hub = start(hub_options(scratch));
  ASSERT_TRUE(hub->begin_execution(1, {}).ok());
  const pid_t child = ::fork();
  if (child == 0) {
    FakeAgent agent(hub->address(), "users");
    _exit(agent.registered() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(eventually([&] { return !hub->agents().empty() && !hub->agents()[0].alive; }));
  EXPECT_EQ(hub->end_execution().lost_events, 0u);
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

TEST(SharedMemory, ThatIsThereAtOnceHasEachOfItsPages) {
  constexpr size_t kSize = 1u << 20;
  const auto memory = sealed_memory("test", kSize, /*at_once=*/true);
  ASSERT_TRUE(memory.ok());
  struct stat status {};
  ASSERT_EQ(::fstat(memory.value().get(), &status), 0);
  EXPECT_EQ(status.st_size, static_cast<off_t>(kSize));
  EXPECT_EQ(status.st_blocks * 512, static_cast<off_t>(kSize));
  EXPECT_NE(::ftruncate(memory.value().get(), 0), 0);
}

// Where sessions are announced on it.
std::vector<std::string> sockets_of(const ControlPage& page) {
  std::vector<std::string> out;
  for (const SessionSlot& slot : page.slots) {
    if (slot.generation.load() > kSessionEnded) out.emplace_back(slot.socket_path);
  }
  return out;
}

TEST(ControlPages, ArePrivateAndNameTheSocketUntilTheEnd) {
  Scratch scratch;
  HubOptions options = hub_options(scratch);
  options.application = "shop";
  auto hub = start(options);
  EXPECT_EQ(hub->address(), "unix:" + options.directory + "/agent.sock");
  EXPECT_EQ(mode_of(options.directory), 0700u);
  EXPECT_EQ(mode_of(options.directory + "/agent.sock"), 0600u);
  EXPECT_EQ(mode_of(options.user_directory), 0700u);
  const ControlPage* const pages[] = {control_page(options.directory),
                                      control_page(options.user_directory, "shop")};
  for (const ControlPage* each : pages) {
    ASSERT_NE(each, nullptr);
    const ControlPage& page = *each;
    EXPECT_EQ(page.magic, kControlMagic);
    EXPECT_EQ(page.major, kProtocolMajor);
    EXPECT_EQ(page.daemon_pid, static_cast<uint32_t>(::getpid()));
    EXPECT_NE(page.generation.load(), 0u);
    EXPECT_EQ(page.socket_path, options.directory + "/agent.sock");
    EXPECT_EQ(sockets_of(page), std::vector<std::string>{options.directory + "/agent.sock"});
    EXPECT_STREQ(page.slots[0].application, "shop");
  }
  hub.reset();
  for (const ControlPage* page : pages) {
    EXPECT_EQ(page->generation.load(), 0u);
    EXPECT_TRUE(sockets_of(*page).empty());
  }
  EXPECT_NE(::access((options.directory + "/agent.sock").c_str(), F_OK), 0);
}

// The one of the session alone: others of the application follow their own sessions.
TEST(ControlPages, SayWhichTimeAReplayIsShown) {
  Scratch scratch;
  HubOptions options = hub_options(scratch);
  options.application = "shop";
  auto hub = start(options);
  const ControlPage* const own = control_page(options.directory);
  const ControlPage* const shared = control_page(options.user_directory, "shop");
  EXPECT_EQ(own->shown_offset_ns.load(), 0);
  const auto now_us = [] {
    const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(since_1970).count();
  };
  constexpr int64_t kShown = 1'700'000'000'000'007;
  const int64_t before = now_us();
  hub->show_time(kShown);
  const int64_t after = now_us();
  const int64_t offset = own->shown_offset_ns.load();
  // What is added makes it the time that is shown, at some moment of the call.
  EXPECT_EQ(offset % 1000, 0);
  EXPECT_LE(before + offset / 1000, kShown);
  EXPECT_GE(after + offset / 1000, kShown);
  EXPECT_EQ(shared->shown_offset_ns.load(), 0);
}

TEST(ControlPages, OfSeveralSessionsOfAnApplicationEachHasAPlaceAndItsOwnGeneration) {
  Scratch scratch;
  HubOptions options = hub_options(scratch);
  options.application = "shop";
  auto first = start(options);
  const ControlPage* page = control_page(options.user_directory, "shop");
  const uint64_t head = page->generation.load(), generation = page->slots[0].generation.load();
  EXPECT_TRUE(first->others().empty());
  HubOptions second_options = options;
  second_options.directory = scratch.path() + "/second";
  auto second = start(second_options);
  EXPECT_NE(page->generation.load(), head);
  EXPECT_EQ(page->slots[0].generation.load(), generation);  // who follows it goes on
  EXPECT_EQ(sockets_of(*page).size(), 2u);
  const std::string other = "pid " + std::to_string(::getpid()) + ", application shop";
  EXPECT_EQ(to_text(first->others()), other);
  EXPECT_EQ(to_text(second->others()), other);
  first.reset();
  EXPECT_EQ(sockets_of(*page), std::vector<std::string>{second_options.directory + "/agent.sock"});
  EXPECT_NE(page->generation.load(), 0u);
  second.reset();
  EXPECT_EQ(page->generation.load(), 0u);
}

TEST(ControlPages, ASessionIsThereForItsApplicationOnly) {
  Scratch scratch;
  HubOptions options = hub_options(scratch);
  options.application = "shop";
  auto shop = start(options);
  options.directory = scratch.path() + "/second";
  options.application = "cart";
  auto cart = start(options);
  for (const char* application : {"shop", "cart"})
    EXPECT_EQ(sockets_of(*control_page(options.user_directory, application)).size(), 1u);
  for (const char* application : {"", "shop/cart"})
    EXPECT_EQ(control_page(options.user_directory, application)->generation.load(), 0u);
  EXPECT_TRUE(shop->others().empty());
}

TEST(ControlPages, ThePlaceOfASessionThatWasKilledIsFree) {
  Scratch scratch;
  HubOptions options = hub_options(scratch);
  options.application = "shop";
  start(options).reset();
  ControlPage* page = control_page(options.user_directory, "shop", /*writable=*/true);
  page->slots[0].generation.store(77);
  page->slots[3].generation.store(78);
  auto hub = start(options);
  EXPECT_EQ(sockets_of(*page).size(), 1u);
  EXPECT_TRUE(hub->others().empty());
}

TEST(Registration, AProcessThatCouldFollowSeveralSessionsIsToldOfAndNotTaken) {
  Scratch scratch;
  HubOptions options = hub_options(scratch);
  options.application = "shop";
  auto hub = start(options);
  HubOptions other_options = options;
  other_options.directory = scratch.path() + "/other";
  auto other = start(other_options);
  FakeAgent agent(hub->address());
  Hello hello;
  hello.sessions = 2;
  hello.pid = static_cast<uint32_t>(::getpid());
  std::memcpy(hello.service, "users", 5);
  EXPECT_FALSE(agent.say_hello(hello));
  EXPECT_TRUE(agent.at_end());
  ASSERT_TRUE(hub->begin_execution(1, {}).ok());
  const auto problems = hub->end_execution().runtime_problems;
  EXPECT_TRUE(any_contains(problems, "users, pid " + std::to_string(::getpid())));
  EXPECT_TRUE(any_contains(problems, "application shop"));
  EXPECT_TRUE(any_contains(problems, "FILIBUSTER_APPLICATION"));
  EXPECT_FALSE(hub->has_agent(static_cast<uint32_t>(::getpid())));
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

TEST(ControlPages, AnotherLinkInPlaceOfTheUsersPageIsNotFollowed) {
  Scratch scratch;
  HubOptions options = hub_options(scratch);
  options.application = "shop";
  const std::string victim = scratch.path() + "/victim";
  ASSERT_EQ(::mkdir(options.user_directory.c_str(), 0700), 0);
  ASSERT_TRUE(UniqueFd(::open(victim.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600)).valid());
  const std::string link = options.user_directory + "/" + ControlPageName("shop").c_str();
  ASSERT_EQ(::symlink(victim.c_str(), link.c_str()), 0);
  auto hub = start(options);
  struct stat status {};
  ASSERT_EQ(::stat(victim.c_str(), &status), 0);
  EXPECT_EQ(status.st_size, 0);
  EXPECT_NE(control_page(options.user_directory, "shop")->generation.load(), 0u);
}

TEST(ControlPages, AUsersPageThatCannotBeMadeIsSaid) {
  Scratch scratch;
  HubOptions options = hub_options(scratch);
  options.application = "shop";
  ASSERT_EQ(::mkdir(options.user_directory.c_str(), 0700), 0);
  const std::string page = options.user_directory + "/" + ControlPageName("shop").c_str();
  ASSERT_EQ(::mkdir(page.c_str(), 0700), 0);
  auto hub = start(options);  // works with its own page
  ASSERT_TRUE(hub->begin_execution(1, {}).ok());
  EXPECT_TRUE(any_contains(hub->end_execution().notes, "FILIBUSTER_DAEMON"));
}

// The link in a directory, and the segment that it names.
std::string link_of(const std::string& directory) {
  char target[64];
  const ssize_t size = ::readlink((directory + "/control").c_str(), target, sizeof target);
  return size <= 0 ? "" : std::string(target, static_cast<size_t>(size));
}

std::string ipc_namespace() {
  char name[64];
  const ssize_t size = ::readlink("/proc/self/ns/ipc", name, sizeof name);
  const std::string text(name, size <= 0 ? 0 : static_cast<size_t>(size));
  const size_t begin = text.find('[');
  return begin == std::string::npos ? "0" : text.substr(begin + 1, text.size() - begin - 2);
}

bool segment_exists(const std::string& link) {
  shmid_ds about{};
  return ::shmctl(std::atoi(link.c_str() + std::strlen("shm:")), IPC_STAT, &about) == 0;
}

TEST(ControlPages, AreGoneWithTheLastProcessThatHasThem) {
  Scratch scratch;
  const HubOptions options = hub_options(scratch);
  auto hub = start(options);
  const std::string before = link_of(options.directory);
  ASSERT_TRUE(segment_exists(before)) << before;
  hub.reset();
  EXPECT_FALSE(segment_exists(before)) << before;
}

TEST(ControlPages, AProgramThatWasThereFirstIsFoundByADaemonAndByTheNextOne) {
  Scratch scratch;
  const HubOptions options = hub_options(scratch);
  ASSERT_EQ(::mkdir(options.directory.c_str(), 0700), 0);
  const ControlPage* program = control_page(options.directory);
  ASSERT_NE(program, nullptr);
  EXPECT_EQ(program->generation.load(), 0u);
  for (int daemon = 0; daemon < 2; ++daemon) {
    auto hub = start(options);
    EXPECT_NE(program->generation.load(), 0u);
    hub.reset();
    EXPECT_EQ(program->generation.load(), 0u);
  }
}

TEST(ControlPages, ASegmentOfAnotherPurposeIsNotFollowed) {
  Scratch scratch;
  const HubOptions options = hub_options(scratch);
  ASSERT_EQ(::mkdir(options.directory.c_str(), 0700), 0);
  const int other = ::shmget(IPC_PRIVATE, kControlPageSize, 0600);
  ASSERT_GE(other, 0);
  auto* words = static_cast<uint64_t*>(::shmat(other, nullptr, 0));
  ::shmctl(other, IPC_RMID, nullptr);
  words[0] = 7;
  const std::string link = "shm:" + std::to_string(other) + ":" + ipc_namespace();
  ASSERT_EQ(::symlink(link.c_str(), (options.directory + "/control").c_str()), 0);
  auto hub = start(options);
  EXPECT_NE(link_of(options.directory), link);
  EXPECT_EQ(words[0], 7u);
  EXPECT_EQ(words[1], 0u);
  ::shmdt(words);
}

TEST(ControlPages, ThatOfAnotherNamespaceIsLeftToItsOwnByAgentsAndReplacedByADaemon) {
  Scratch scratch;
  const HubOptions options = hub_options(scratch);
  ASSERT_EQ(::mkdir(options.directory.c_str(), 0700), 0);
  const std::string link = "shm:1:1";
  ASSERT_EQ(::symlink(link.c_str(), (options.directory + "/control").c_str()), 0);
  EXPECT_EQ(control_page(options.directory), nullptr);
  EXPECT_EQ(link_of(options.directory), link);
  auto hub = start(options);
  EXPECT_NE(control_page(options.directory), nullptr);
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

Message message_of(const Outside& outside, size_t size = sizeof(Outside)) {
  Message message;
  message.state = Message::State::kWhole;
  message.size = size;
  message.bytes.resize(size);
  std::memcpy(message.bytes.data(), &outside, size);
  return message;
}

TEST(Registration, AProgramThatTakesNoPartIsNamed) {
  Outside outside;
  outside.entry = static_cast<uint8_t>(Entry::kMusl);
  std::strcpy(outside.service, "users");
  std::strcpy(outside.program, "/opt/us\ners");
  const auto read = read_outside(message_of(outside), 0);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->entry, Entry::kMusl);
  EXPECT_EQ(read->service, "users");
  EXPECT_EQ(read->program, "/opt/us?ers");
  EXPECT_EQ(read->obstacle, obstacle_text(Entry::kMusl, 0, ""));
  // What gains rights has glibc's loader.
  outside.entry = static_cast<uint8_t>(Entry::kByGlibc);
  outside.gain = static_cast<uint8_t>(Gain::kUser);
  EXPECT_EQ(read_outside(message_of(outside), 0)->obstacle, obstacle_text(Gain::kUser));
}

TEST(Registration, WhatIsNoSuchMessageNamesNothing) {
  Outside good;
  good.entry = static_cast<uint8_t>(Entry::kStatic);
  ASSERT_TRUE(read_outside(message_of(good), 0).has_value());
  EXPECT_FALSE(read_outside(message_of(good), 1).has_value()) << "of another lane";
  EXPECT_FALSE(read_outside(message_of(good, sizeof good - 1), 0).has_value());
  EXPECT_FALSE(read_outside(Message{}, 0).has_value());
  for (const auto damage : std::initializer_list<void (*)(Outside*)>{
           [](Outside* o) { o->magic = kHelloMagic; }, [](Outside* o) { ++o->major; },
           [](Outside* o) { o->entry = 200; }, [](Outside* o) { o->gain = 200; },
           [](Outside* o) { o->entry = 0; }}) {
    Outside bad = good;
    damage(&bad);
    EXPECT_FALSE(read_outside(message_of(bad), 0).has_value());
  }
}

}  // namespace
}  // namespace filibuster::test
