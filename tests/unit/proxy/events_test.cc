#include "daemon/proxy/events.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace filibuster::proxy {
namespace {

fb_event example() {
  fb_event event{};
  event.kind = FB_WRITE;
  event.tgid = 7;
  event.tid = 8;
  event.local = to_key(*parse_address("127.0.0.1:40000"));
  event.remote = to_key(*parse_address("[::1]:80"));
  event.position = 5;
  event.size = 6;
  event.frames = 2;
  event.stack[0] = 0x1000;
  event.stack[1] = 0x2000;
  return event;
}

std::string record(const fb_event& event, size_t frames) {
  return {reinterpret_cast<const char*>(&event), FB_EVENT_HEAD + frames * sizeof event.stack[0]};
}

TEST(ProxyEvents, ARecordIsAsLongAsItsFrames) {
  const auto event = read_event(record(example(), 2));
  ASSERT_TRUE(event);
  EXPECT_EQ(event->kind, FB_WRITE);
  EXPECT_EQ(event->task, (Task{7, false, 8}));
  EXPECT_EQ(event->local.text(), "127.0.0.1:40000");
  EXPECT_EQ(event->remote.text(), "[::1]:80");
  EXPECT_EQ(event->position, 5u);
  EXPECT_EQ(event->size, 6u);
  EXPECT_EQ(std::vector<uint64_t>(event->stack().begin(), event->stack().end()),
            (std::vector<uint64_t>{0x1000, 0x2000}));
  EXPECT_FALSE(read_event(record(example(), 1))) << "a frame is missing";
}

TEST(ProxyEvents, AGoroutineIsATaskOfItsOwn) {
  fb_event raw = example();
  raw.task = 8;
  EXPECT_EQ(read_event(record(raw, 2))->task, (Task{7, true, 8}));
}

TEST(ProxyEvents, AStackThatCouldNotBeReadIsEmpty) {
  fb_event raw = example();
  raw.frames = -14;
  const auto event = read_event(record(raw, 0));
  ASSERT_TRUE(event);
  EXPECT_TRUE(event->stack().empty());
}

TEST(ProxyEvents, AnAnswerHasTheNumberOfItsRequestAndAStatus) {
  fb_event raw = example();
  raw.kind = FB_ANSWER;
  raw.call = 1ull << 60;
  raw.status = 503;
  auto event = read_event(record(raw, 2));
  ASSERT_TRUE(event);
  EXPECT_EQ(event->kind, FB_ANSWER);
  EXPECT_EQ(event->call, 1ull << 60);
  EXPECT_EQ(event->status, 503);
  raw.status = 0x10000 + 200;  // what no server says
  EXPECT_EQ(read_event(record(raw, 2))->status, 0);
}

TEST(ProxyEvents, BytesThatWereReadFollowAndMayBeFewerThanTheCallHad) {
  fb_event raw = example();
  raw.kind = FB_REQUESTS;
  raw.frames = 0;
  raw.flags = 3u << FB_LOST_SHIFT;
  const std::string head = record(raw, 0), whole = head + "GET /a", cut = head + "GET",
                    longer = whole + "padding";
  EXPECT_EQ(read_event(whole)->bytes, "GET /a");
  EXPECT_EQ(read_event(cut)->bytes, "GET");
  EXPECT_EQ(read_event(cut)->size, 6u);
  EXPECT_EQ(read_event(longer)->bytes, "GET /a");
  EXPECT_EQ(read_event(head)->bytes, "");
  EXPECT_EQ(read_event(head)->lost, 3u);
}

TEST(ProxyEvents, HostileRecordsAreRefused) {
  fb_event raw = example();
  EXPECT_FALSE(read_event(""));
  EXPECT_FALSE(read_event(record(raw, 0).substr(0, FB_EVENT_HEAD - 1)));
  raw.frames = FB_FRAMES + 1;
  EXPECT_FALSE(read_event(record(raw, FB_FRAMES)));
  raw.frames = 0x7fffffff;
  EXPECT_FALSE(read_event(record(raw, FB_FRAMES)));
  raw = example();
  raw.kind = 0;
  EXPECT_FALSE(read_event(record(raw, 2)));
  raw.kind = FB_CLOSED + 1;
  EXPECT_FALSE(read_event(record(raw, 2)));
  raw.kind = FB_CALL;
  EXPECT_FALSE(read_event(record(raw, 2))) << "what is asked for is missing";
}

TEST(ProxyAddress, TextAndKeyGoThereAndBack) {
  for (const char* text :
       {"127.0.0.1:1", "255.255.255.255:65535", "[::1]:80", "[2001:db8::1]:443"}) {
    const auto address = parse_address(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(address->text(), text);
    EXPECT_EQ(from_event(to_key(*address)), *address);
    sockaddr_storage storage{};
    EXPECT_GT(to_socket(*address, &storage), 0u);
    EXPECT_EQ(from_socket(storage), address);
  }
  for (const char* text :
       {"", ":", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "localhost:80", "::1:80", "[::1:80"})
    EXPECT_FALSE(parse_address(text)) << text;
}

}  // namespace
}  // namespace filibuster::proxy
