#include "bpf/loader/protocol.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstddef>

#include "bpf/attached.h"
#include "bpf/loader/channel.h"
#include "bpf/loader/failure.h"

namespace filibuster::bpf {
namespace {

// Clients in other languages, and programs that were built at another time, lay the same fields out.
TEST(Layout, OfTheMessagesIsFixed) {
  EXPECT_EQ(sizeof(JoinRequest), 8u);
  EXPECT_EQ(sizeof(AttachRequest), 928u);
  EXPECT_EQ(offsetof(AttachRequest, lane), 112u);
  EXPECT_EQ(offsetof(AttachRequest, pids), 120u);
  EXPECT_EQ(offsetof(AttachRequest, ports), 380u);
  EXPECT_EQ(offsetof(AttachRequest, flags), 412u);
  EXPECT_EQ(offsetof(AttachRequest, start_times), 416u);
  EXPECT_EQ(sizeof(AttachReply), 336u);
  EXPECT_EQ(offsetof(AttachReply, text), 80u);
  EXPECT_EQ(sizeof(RetireReply), 600u);
  EXPECT_EQ(sizeof(DetachReply), 268u);
}

TEST(Layout, OfAnEventIsFixed) {
  EXPECT_EQ(FB_EVENT_HEAD, 104u);
  EXPECT_EQ(sizeof(fb_event), 104u + 8 * FB_FRAMES);
  EXPECT_EQ(offsetof(fb_event, task), 16u);
  EXPECT_EQ(offsetof(fb_event, local), 32u);
  EXPECT_EQ(offsetof(fb_event, call), 96u);
  EXPECT_EQ(offsetof(fb_event, stack), FB_EVENT_HEAD);
}

class Pair : public testing::Test {
 protected:
  Pair() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    here_ = UniqueFd(ends[0]);
    there_ = UniqueFd(ends[1]);
  }
  UniqueFd here_, there_;
};

TEST_F(Pair, CarriesAMessageAndItsDescriptors) {
  JoinRequest sent;
  sent.version = 7;
  ASSERT_TRUE(send(here_.get(), &sent, sizeof(sent), {here_.get(), there_.get()}));
  const Datagram datagram = receive(there_.get());
  ASSERT_NE(datagram.as<JoinRequest>(), nullptr);
  EXPECT_EQ(datagram.as<JoinRequest>()->version, 7u);
  EXPECT_EQ(datagram.as<AttachRequest>(), nullptr) << "it has another size";
  ASSERT_EQ(datagram.descriptors.size(), 2u);
  EXPECT_NE(datagram.descriptors[0].get(), here_.get());
}

TEST_F(Pair, IsSeenToEnd) {
  here_.reset();
  EXPECT_TRUE(receive(there_.get()).bytes.empty());
  const JoinRequest request;
  EXPECT_FALSE(send(there_.get(), &request, sizeof(request)));
}

TEST(Advice, SaysWhatToDoAboutTheKernelsAnswer) {
  EXPECT_NE(advice("cgroup2 mount", ENOENT).find("mount -t cgroup2"), std::string::npos);
  EXPECT_NE(advice("sk_lookup", EINVAL).find("Linux 5.9"), std::string::npos);
  EXPECT_NE(advice("anything", ENOMEM), "");
  EXPECT_EQ(advice("anything", EIO), "");
}

TEST(Advice, StandsBehindTheKernelsAnswer) {
  const Failure failure = refused("cgroup2 mount", -ENOENT);
  EXPECT_EQ(failure.error, ENOENT);
  EXPECT_EQ(failure.text.find("the kernel says: No such file or directory; mount"), 0u);
}

TEST(CopiedText, IsCutAndEndsWithAZero) {
  char to[4] = {'x', 'x', 'x', 'x'};
  copy_text(to, sizeof(to), "longer");
  EXPECT_STREQ(to, "lon");
  copy_text(to, sizeof(to), "a");
  EXPECT_STREQ(to, "a");
  EXPECT_EQ(to[3], 0);
}

}  // namespace
}  // namespace filibuster::bpf
