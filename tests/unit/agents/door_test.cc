// Registration of processes that cannot open the session's socket.
#include "daemon/agents/door.h"

#include <fcntl.h>
#include <sys/shm.h>

#include "core/protocol/control_segment.h"
#include "tests/unit/agents/fake_agent.h"

namespace filibuster::test {
namespace {

class AtTheDoor : public testing::Test {
 protected:
  AtTheDoor() {
    const HubOptions options = hub_options(scratch_);
    auto hub = AgentHub::start(options);
    EXPECT_TRUE(hub.ok());
    if (!hub.ok()) return;
    hub_ = std::move(hub).value();
    const UniqueFd directory(::open(options.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    page_ = ControlSegment(SystemCall(), directory.get(), ControlPageName(""), false).open();
  }
  ~AtTheDoor() override {
    if (page_ != nullptr) ::shmdt(page_);
  }
  const SessionSlot& slot() const { return page_->slots[0]; }
  FakeAgent knock() const { return FakeAgent(FakeAgent::AtDoor{slot().door}); }
  Hello with_token() const {
    Hello hello;
    std::memcpy(hello.token, slot().token, sizeof hello.token);
    return hello;
  }
  std::vector<std::string> notes() {
    if (!hub_->begin_execution(++execution_, {}).ok()) ADD_FAILURE();
    return hub_->end_execution().notes;
  }

  Scratch scratch_;
  std::unique_ptr<AgentHub> hub_;
  ControlPage* page_ = nullptr;
  uint32_t execution_ = 0;
};

TEST_F(AtTheDoor, WhoShowsTheTokenIsRegistered) {
  ASSERT_NE(page_, nullptr);
  FakeAgent agent = knock();
  ASSERT_TRUE(agent.say_hello(with_token()));
  EXPECT_TRUE(agent.registered());
  EXPECT_TRUE(hub_->has_agent(static_cast<uint32_t>(::getpid())));
}

TEST_F(AtTheDoor, WhoDoesNotIsSentAwayWithoutAnAnswer) {
  ASSERT_NE(page_, nullptr);
  Hello almost = with_token();
  almost.token[kTokenSize - 1] ^= 1;
  for (const Hello& hello : {Hello{}, almost}) {
    FakeAgent agent = knock();
    ASSERT_TRUE(agent.connected() && agent.send_bytes(&hello, sizeof hello));
    EXPECT_TRUE(agent.at_end());
    EXPECT_FALSE(agent.registered());
  }
  FakeAgent other = knock();  // a message that is no Hello
  ASSERT_TRUE(other.send_bytes("knock", 5));
  EXPECT_TRUE(other.at_end());
  EXPECT_FALSE(hub_->has_agent(static_cast<uint32_t>(::getpid())));
  // They are named once, for they could come without end.
  const std::vector<std::string> said = notes();
  EXPECT_EQ(std::count_if(said.begin(), said.end(),
                          [](const std::string& note) {
                            return note.find("did not show this session's token") !=
                                   std::string::npos;
                          }),
            1);
}

TEST_F(AtTheDoor, ManyWhoWaitThereKeepNobodyOut) {
  ASSERT_NE(page_, nullptr);
  std::vector<std::unique_ptr<FakeAgent>> idle;
  for (int i = 0; i < 500; ++i) {
    idle.push_back(std::make_unique<FakeAgent>(FakeAgent::AtDoor{slot().door}));
    ASSERT_TRUE(idle.back()->connected());
  }
  FakeAgent agent = knock();
  ASSERT_TRUE(agent.say_hello(with_token()));
  EXPECT_TRUE(agent.registered());
  EXPECT_TRUE(idle.front()->at_end()) << "those that came first make room";
}

TEST_F(AtTheDoor, ManyWhoComeAtOnceWithTheTokenAreRegistered) {
  ASSERT_NE(page_, nullptr);
  const Hello hello = with_token();
  std::vector<std::unique_ptr<FakeAgent>> agents;
  for (int i = 0; i < 200; ++i) {
    agents.push_back(std::make_unique<FakeAgent>(FakeAgent::AtDoor{slot().door}));
    ASSERT_TRUE(agents.back()->send_bytes(&hello, sizeof hello));
  }
  for (auto& agent : agents) EXPECT_TRUE(agent->read_welcome());
}

TEST_F(AtTheDoor, ItIsClosedWithTheSession) {
  ASSERT_NE(page_, nullptr);
  const uint64_t door = slot().door;
  EXPECT_NE(door, 0u);
  hub_.reset();
  EXPECT_FALSE(FakeAgent(FakeAgent::AtDoor{door}).connected());
}

TEST(Door, HasAnotherNameAndAnotherTokenEachTime) {
  Result<Door> one = Door::open(), other = Door::open();
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_NE(one.value().number(), other.value().number());
  EXPECT_NE(one.value().token(), other.value().token());
}

TEST(Door, NothingOpensADoorThatIsNotThere) {
  const uint8_t zeros[kTokenSize] = {};
  EXPECT_FALSE(Door().opened_by(zeros));
}

}  // namespace
}  // namespace filibuster::test
