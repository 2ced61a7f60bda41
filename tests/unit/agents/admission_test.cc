// Which processes that somebody started by hand a session takes.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "tests/unit/agents/fake_agent.h"

namespace filibuster::test {
namespace {

std::unique_ptr<AgentHub> start_hub(const HubOptions& options) {
  auto hub = AgentHub::start(options);
  EXPECT_TRUE(hub.ok()) << (hub.ok() ? "" : hub.error().message);
  return hub.ok() ? std::move(hub).value() : nullptr;
}

// The Hello of a process that somebody else than this one has started: a child of init.
Hello by_hand(const std::string& service, Belonging belonging) {
  Hello hello;
  std::memcpy(hello.service, service.data(), service.size());
  hello.belonging = belonging;
  return hello;
}

// Says Hello in a process that is no descendant of ours (it is orphaned first), and returns the refusal.
uint32_t refusal_of(const AgentHub& hub, const Hello& hello) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const pid_t parent = ::getpid();
    if (::fork() != 0) _exit(0);
    while (::getppid() == parent) std::this_thread::yield();
    FakeAgent agent(hub.address());
    agent.say_hello(hello);
    const uint32_t refused = agent.welcome().refused;
    _exit(::write(ends[1], &refused, sizeof refused) == sizeof refused ? 0 : 1);
  }
  ::close(ends[1]);
  ::waitpid(child, nullptr, 0);
  uint32_t refused = 99;
  EXPECT_EQ(::read(ends[0], &refused, sizeof refused), static_cast<ssize_t>(sizeof refused));
  ::close(ends[0]);
  return refused;
}

TEST(Admission, OfProcessesByHandThoseThatTheSessionListsAreTaken) {
  Scratch scratch;
  HubOptions options = hub_options(scratch);
  options.application = "shop";
  options.services = {"users", "front"};
  auto hub = start_hub(options);
  const auto as = [](Refusal refusal) { return static_cast<uint32_t>(refusal); };
  const Belonging variable = Belonging::kVariable;
  EXPECT_EQ(refusal_of(*hub, by_hand("users", variable)), as(Refusal::kNone));
  EXPECT_EQ(refusal_of(*hub, by_hand("other", variable)), as(Refusal::kNotListed));
  // What the session started itself may call itself as it likes, and so may what that starts.
  EXPECT_EQ(refusal_of(*hub, by_hand("other", Belonging::kStarted)), as(Refusal::kNone));
  FakeAgent descendant(hub->address());
  EXPECT_TRUE(descendant.say_hello(by_hand("other", variable)));
  EXPECT_TRUE(descendant.registered());
  ASSERT_TRUE(hub->begin_execution(1, {}).ok());
  const ExecutionRecord record = hub->end_execution();
  EXPECT_FALSE(any_contains(record.notes, "other"));
  EXPECT_FALSE(any_contains(record.runtime_problems, "other"));
}

TEST(Admission, WithoutAListWhoeverBelongsToTheApplicationIsTaken) {
  Scratch scratch;
  HubOptions options = hub_options(scratch);
  options.application = "shop";
  auto hub = start_hub(options);
  EXPECT_EQ(refusal_of(*hub, by_hand("other", Belonging::kVariable)),
            static_cast<uint32_t>(Refusal::kNone));
}

TEST(Admission, AFolderIsTheSameOnlyIfItIsTheSameAndNotIfItsPathIs) {
  Scratch scratch;
  HubOptions options = hub_options(scratch);
  options.application = scratch.path();
  options.services = {"users"};
  auto hub = start_hub(options);
  struct stat folder {};
  ASSERT_EQ(::stat(scratch.path().c_str(), &folder), 0);
  Hello hello = by_hand("users", Belonging::kFolder);
  hello.folder_device = folder.st_dev;
  hello.folder_inode = folder.st_ino;
  EXPECT_EQ(refusal_of(*hub, hello), static_cast<uint32_t>(Refusal::kNone));
  ++hello.folder_inode;
  EXPECT_EQ(refusal_of(*hub, hello), static_cast<uint32_t>(Refusal::kAnotherFolder));
  ASSERT_TRUE(hub->begin_execution(1, {}).ok());
  EXPECT_TRUE(any_contains(hub->end_execution().runtime_problems,
                           "FILIBUSTER_APPLICATION=" + scratch.path()));
}

}  // namespace
}  // namespace filibuster::test
