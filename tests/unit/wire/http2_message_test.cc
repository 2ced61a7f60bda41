#include "daemon/wire/http2_message.h"

#include <gtest/gtest.h>

#include "tests/unit/core/http2/peer.h"
#include "tests/unit/core/http2/wire.h"

namespace filibuster::wire {
namespace {

using enum http2::FrameType;
using http2::Encoder;
using http2::FieldList;
using http2::frame;
using http2::join;

constexpr uint8_t kEnd = http2::kFlagEndStream, kHead = http2::kFlagEndHeaders;

std::string shown(const Http2Message& of) {
  const HttpMessage& m = of.message;
  std::string out = (of.is_request ? "> " : "< ") + std::to_string(m.number) + " " + m.method +
                    m.target + (of.is_request ? "" : std::to_string(m.status)) + " " + m.body;
  for (const auto& [name, value] : m.headers) out += " " + name + "=" + value;
  for (const auto& [name, value] : m.trailers) out += " trailer " + name + "=" + value;
  if (!of.whole) out += " not whole";
  if (of.reset) out += " reset " + std::to_string(*of.reset);
  return out + (of.reset_by_client ? " by its client" : "");
}

// A connection behind its preface and settings. What is said is given to the reader in parts of `step` bytes, each at a time of its own.
class Http2Messages : public ::testing::Test {
 protected:
  void begin(size_t step) {
    step_ = step;
    time_ = 0;
    reader_ = std::make_unique<Http2Reader>();
    client_ = std::make_unique<Encoder>();
    server_ = std::make_unique<Encoder>();
    lines_.clear();
    requests(http2::client_start());
    answers(http2::settings() + http2::settings_ack());
    requests(http2::settings_ack());
  }
  void requests(std::string_view bytes) { give(true, bytes); }
  void answers(std::string_view bytes) { give(false, bytes); }
  std::string asks(uint32_t id, const FieldList& fields, uint8_t flags = kHead) {
    return frame(kHeaders, flags, id, client_->block(fields));
  }
  std::string says(uint32_t id, const FieldList& fields, uint8_t flags = kHead) {
    return frame(kHeaders, flags, id, server_->block(fields));
  }
  void give(bool requests, std::string_view bytes) {
    for (; !bytes.empty(); bytes.remove_prefix(std::min(step_, bytes.size()))) {
      const std::string part(bytes.substr(0, step_));
      for (Http2Message& each : reader_->feed(requests, part, ++time_)) {
        lines_ += shown(each) + "\n";
        last_ = std::move(each.message);
      }
    }
  }

  const FieldList call_ = {
      {":method", "POST"},          {":scheme", "http"}, {":path", "/shop.Cart/Get"},
      {":authority", "cart:50051"}, {"x-two", "1"},      {"x-two", "2"}};
  size_t step_ = SIZE_MAX;
  uint64_t time_ = 0;
  std::unique_ptr<Http2Reader> reader_;
  std::unique_ptr<Encoder> client_, server_;
  std::string lines_;
  HttpMessage last_;
};

TEST_F(Http2Messages, AreTheSameUnderEverySplit) {
  for (size_t step = 1; step <= 40; ++step) {
    begin(step);
    requests(join({asks(1, call_), frame(kData, 0, 1, "ques"), asks(3, call_, kHead | kEnd),
                   frame(kData, kEnd, 1, "tion")}));
    answers(join({says(3, {{":status", "103"}, {"link", "x"}}),
                  says(3, {{":status", "404"}}, kHead | kEnd),
                  says(1, {{":status", "200"}, {"x-a", "b"}}), frame(kData, 0, 1, "ans"),
                  frame(kData, 0, 1, "wer"), says(1, {{"grpc-status", "0"}}, kHead | kEnd)}));
    EXPECT_EQ(lines_,
              "> 3 POST/shop.Cart/Get  x-two=1 x-two=2\n"
              "> 1 POST/shop.Cart/Get question x-two=1 x-two=2\n"
              "< 3 404 \n"
              "< 1 200 answer x-a=b trailer grpc-status=0\n");
    EXPECT_EQ(reader_->problem(), "");
    EXPECT_EQ(reader_->kept(), 0u);
  }
}

TEST_F(Http2Messages, PiecesHaveTheTimesAtWhichTheyCame) {
  begin(SIZE_MAX);
  requests(asks(1, call_, kHead | kEnd));
  answers(says(1, {{":status", "200"}}));
  const uint64_t head = time_;
  answers(frame(kData, 0, 1, "one") + frame(kData, 0, 1, "two"));
  answers(frame(kData, kEnd, 1, "three"));
  EXPECT_EQ(last_.head_ns, head);
  EXPECT_EQ(last_.ended_ns, head + 2);
  EXPECT_EQ(last_.pieces, (std::vector<HttpPiece>{{6, head + 1}, {5, head + 2}}));
}

TEST_F(Http2Messages, AStreamThatIsResetIsNotWhole) {
  begin(SIZE_MAX);
  requests(join({asks(1, call_, kHead | kEnd), asks(3, call_), asks(5, call_, kHead | kEnd)}));
  answers(join({says(1, {{":status", "200"}}), frame(kData, 0, 1, "a part")}));
  ASSERT_NE(reader_->open_answer(1), nullptr);
  EXPECT_EQ(reader_->open_answer(1)->body, "a part");
  EXPECT_EQ(reader_->open_answer(3), nullptr) << "it has not begun";
  lines_.clear();
  answers(frame(kRstStream, 0, 1, std::string("\0\0\0\x0b", 4)));
  requests(frame(kRstStream, 0, 3, std::string("\0\0\0\x08", 4)));
  EXPECT_EQ(lines_,
            "< 1 200 a part not whole reset 11\n"
            "> 3 POST/shop.Cart/Get  x-two=1 x-two=2 not whole reset 8 by its client\n"
            "< 3 0  not whole reset 8 by its client\n");
  lines_.clear();
  answers(frame(kGoaway, 0, 0, std::string("\0\0\0\x03\0\0\0\0", 8)));
  EXPECT_EQ(lines_, "< 5 0  not whole reset 7\n");
  EXPECT_EQ(reader_->kept(), 0u);
}

TEST_F(Http2Messages, NothingIsReadBehindWhatIsNoHttp2) {
  begin(SIZE_MAX);
  requests(frame(kContinuation, kHead, 1, "x"));
  EXPECT_NE(reader_->problem(), "");
  lines_.clear();
  requests(asks(1, call_, kHead | kEnd));
  EXPECT_EQ(lines_, "");
}

TEST_F(Http2Messages, ABodyHasABound) {
  begin(SIZE_MAX);
  requests(asks(1, call_, kHead | kEnd));
  answers(says(1, {{":status", "200"}}));
  const std::string part(16'000, 'x');
  for (size_t sent = 0; sent <= kMostMessageBody; sent += part.size())
    answers(frame(kData, 0, 1, part));
  EXPECT_GE(reader_->kept(), kMostMessageBody);
  EXPECT_LT(reader_->kept(), kMostMessageBody + 10'000);
  answers(frame(kData, kEnd, 1, ""));
  EXPECT_TRUE(last_.too_large);
  EXPECT_EQ(last_.body.size(), kMostMessageBody);
  EXPECT_EQ(reader_->kept(), 0u);
}

}  // namespace
}  // namespace filibuster::wire
