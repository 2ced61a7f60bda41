// What an open connection costs, and what it gives back while nothing is under way on it (docs/preload.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "preload/protocols/http1/http1.h"
#include "preload/session/state.h"
#include "preload/stream/sender.h"

namespace filibuster::preload {
namespace {

class ConnectionMemory : public testing::Test {
 protected:
  void SetUp() override {
    connection_ = make_connection();
    ASSERT_NE(connection_, nullptr);
    connection_->seen_from_start = true;
  }
  void TearDown() override { unpin(connection_); }

  void pass(bool requests, std::string_view bytes) {
    Connection& c = *connection_;
    const iovec piece{const_cast<char*>(bytes.data()), bytes.size()};
    const Flow& flow = requests ? c.request_flow : c.response_flow;
    observe(c, -1, requests, piece, bytes.size(), flow.sequence());
    ASSERT_TRUE(c.state.is_followed());
  }

  Connection* connection_ = nullptr;
};

TEST_F(ConnectionMemory, IsAtMostTwelveThousandBytesForBothEnds) {
  // As the pool gives them out, with what it adds to each.
  std::vector<Connection*> many;
  for (int i = 0; i < 64; ++i) many.push_back(make_connection());
  std::vector<uintptr_t> at;
  for (Connection* c : many) at.push_back(reinterpret_cast<uintptr_t>(c));
  std::sort(at.begin(), at.end());
  uintptr_t each = UINTPTR_MAX;
  for (size_t i = 1; i < at.size(); ++i) each = std::min(each, at[i] - at[i - 1]);
  for (Connection* c : many) unpin(c);
  EXPECT_GE(each, sizeof(Connection));
  EXPECT_LE(2 * each, 12'000u);
}

TEST_F(ConnectionMemory, OfTheTextsOfARequestIsTakenOnlyWhileOneIsUnderWay) {
  Connection& c = *connection_;
  c.role = Role::kServer;
  for (int times = 0; times < 3; ++times) {
    pass(true, "POST /a HTTP/1.1\r\nHo");
    const Http1& h = http1_of(c);
    EXPECT_NE(h.texts, nullptr) << "in its head";
    pass(true, "st: a\r\nContent-Length: 4\r\n\r\nbo");
    EXPECT_NE(h.texts, nullptr) << "in its body";
    pass(true, "dy");
    EXPECT_EQ(h.texts, nullptr) << "its answer has not come";
    pass(false, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    EXPECT_EQ(h.texts, nullptr) << "idle";
    EXPECT_TRUE(h.is_idle(c));
  }
  pass(true, "POST /a HTTP/1.1\r\nContent-Length: 4\r\n\r\nbo");
  EXPECT_NE(http1_of(c).texts, nullptr);
  const Flow& flow = c.request_flow;
  observe_unseen(c, true, 2, flow.sequence());
  EXPECT_EQ(http1_of(c).texts, nullptr) << "the end of its body went by unseen";
}

TEST_F(ConnectionMemory, OfEditsIsTakenOnlyWhileOneIsUnderWay) {
  Connection& c = *connection_;
  Wire& w = c.wire;
  EXPECT_FALSE(w.edits.insert(0, "x")) << "no room";
  for (int times = 0; times < 3; ++times) {
    ASSERT_TRUE(take_edit_room(w));
    ASSERT_TRUE(w.edits.insert(w.edits.position(), "field"));
    update_debt(c);
    EXPECT_NE(w.edit_room, nullptr);
    note_sent(w, 5);
    update_debt(c);
    EXPECT_EQ(w.edit_room, nullptr);
  }
}

TEST_F(ConnectionMemory, OfEditsStaysWhereAnInterruptedSendMayGoOnWithIt) {
  Connection& c = *connection_;
  Wire& w = c.wire;
  ASSERT_TRUE(take_edit_room(w));
  ASSERT_TRUE(w.edits.insert(0, "field"));
  ASSERT_TRUE(c.request_flow.acquire());
  c.sending.store(thread_id());  // a signal handler on this thread sends meanwhile
  ASSERT_TRUE(enter_requests(c));
  EXPECT_FALSE(w.edits.has_edits());
  const EditRoom* const room = w.edit_room;
  update_debt(c);
  EXPECT_EQ(w.edit_room, room);
  EXPECT_NE(room, nullptr);
  c.request_flow.release();
}

}  // namespace
}  // namespace filibuster::preload
