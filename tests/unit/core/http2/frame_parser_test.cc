#include "core/http2/frame_parser.h"

#include <gtest/gtest.h>

#include "tests/unit/core/http2/frame_trace.h"
#include "tests/unit/core/http2/wire.h"

namespace filibuster::http2 {
namespace {

using enum FrameType;
using Lines = std::vector<std::string>;

// Client bytes after the preface and an empty SETTINGS: 33 bytes, two lines of trace.
Lines client(std::string_view bytes, Error expected = Error::kNone) {
  FrameTracer t(Direction::kRequests);
  t.feed(client_start() + std::string(bytes));
  EXPECT_EQ(t.parser.error(), expected) << describe(t.parser.error());
  EXPECT_GE(t.lines.size(), 2u);
  return Lines(t.lines.begin() + 2, t.lines.end());
}
Error client_error(std::string_view bytes) {
  FrameTracer t(Direction::kRequests);
  return t.feed(client_start() + std::string(bytes));
}
Error server_error(std::string_view bytes) {
  FrameTracer t(Direction::kResponses);
  return t.feed(settings() + std::string(bytes));
}

TEST(Frames, ThePrefaceIsDemandedOfTheClientInFull) {
  FrameTracer t(Direction::kRequests);
  EXPECT_EQ(t.feed(kClientPreface.substr(0, 20)), Error::kNone);
  EXPECT_FALSE(t.parser.at_boundary());
  EXPECT_EQ(t.feed(kClientPreface.substr(20)), Error::kNone);
  EXPECT_FALSE(t.parser.at_boundary()) << "SETTINGS come first";
  FrameTracer other(Direction::kRequests);
  EXPECT_EQ(other.feed("PRI * HTTP/2.0\r\n\r\nXM\r\n\r\n"), Error::kBadPreface);
  EXPECT_EQ(other.feed(settings()), Error::kBadPreface);
  EXPECT_TRUE(other.lines.empty());
}

TEST(Frames, TheFirstFrameIsSettings) {
  FrameTracer server(Direction::kResponses);
  EXPECT_EQ(server.feed(ping()), Error::kFirstNotSettings);
  FrameTracer ack(Direction::kResponses);
  EXPECT_EQ(ack.feed(settings_ack()), Error::kFirstNotSettings);
  FrameTracer client(Direction::kRequests);
  EXPECT_EQ(client.feed(std::string(kClientPreface) + ping()), Error::kFirstNotSettings);
}

TEST(Frames, SettingsAccumulateAndTheSmallestTableSizeIsKept) {
  const Lines lines =
      client(settings(setting(1, 100) + setting(4, 70000) + setting(5, 20000) + setting(1, 0) +
                      setting(1, 300) + setting(99, 5)) +
             settings(setting(2, 0) + setting(3, 7) + setting(6, 9000)) + settings_ack());
  EXPECT_EQ(lines,
            (Lines{"frame 33 36 4 0 0", "settings 300 1 4294967295 70000 20000 4294967295 1 0",
                   "frame 78 18 4 0 0", "settings 300 0 7 70000 20000 9000 0 0",
                   "frame 105 0 4 1 0", "settings ack"}));
}

TEST(Frames, SettingsOutOfRangeAreErrors) {
  EXPECT_EQ(client_error(settings(setting(2, 2))), Error::kBadSetting);
  EXPECT_EQ(client_error(settings(setting(2, 1))), Error::kNone);
  EXPECT_EQ(server_error(settings(setting(2, 1))), Error::kBadSetting);
  EXPECT_EQ(server_error(settings(setting(2, 0))), Error::kNone);
  EXPECT_EQ(client_error(settings(setting(4, 0x80000000))), Error::kBadSetting);
  EXPECT_EQ(client_error(settings(setting(4, 0x7fffffff))), Error::kNone);
  EXPECT_EQ(client_error(settings(setting(5, 16383))), Error::kBadSetting);
  EXPECT_EQ(client_error(settings(setting(5, 1 << 24))), Error::kBadSetting);
  EXPECT_EQ(client_error(settings(setting(5, (1 << 24) - 1))), Error::kNone);
}

TEST(Frames, AHeaderBlockSaysWhereItStands) {
  const Lines lines = client(frame(kHeaders, kFlagEndHeaders | kFlagEndStream, 1, "abcd"));
  EXPECT_EQ(lines, (Lines{"frame 33 4 1 5 1", "block 1 0 1 0 33 ",
                          "block end 1 33 46 1 33 4 5 46 1 abcd"}));
}

TEST(Frames, PaddingAndPriorityAreNoPartOfTheBlock) {
  const std::string payload = padded("PRIOR" + std::string("abcd"), 7);
  const Lines lines =
      client(frame(kHeaders, kFlagEndHeaders | kFlagPadded | kFlagPriority, 3, payload));
  EXPECT_EQ(lines, (Lines{"frame 33 17 1 44 3", "block 3 0 0 1 33 PRIOR",
                          "block end 3 33 59 1 33 17 44 52 0 abcd"}));
}

TEST(Frames, ContinuationsAreJoined) {
  const Lines lines = client(frame(kHeaders, kFlagEndStream | kFlagPadded, 5, padded("ab", 3)) +
                             frame(kContinuation, 0, 5, "") + frame(kContinuation, 0, 5, "cd") +
                             frame(kContinuation, kFlagEndHeaders, 5, "e"));
  EXPECT_EQ(lines,
            (Lines{"frame 33 6 1 9 5", "block 5 0 1 0 33 ", "frame 48 0 9 0 5", "frame 57 2 9 0 5",
                   "frame 68 1 9 4 5", "block end 5 33 78 4 68 1 4 78 1 abcde"}));
}

TEST(Frames, AHalfReadFrameSaysWhatIsLeftOfIt) {
  struct Nobody final : FrameHandler {
  } nobody;
  const std::string data = frame(kData, kFlagEndStream | kFlagPadded, 1, padded("abcd", 3));
  FrameParser parser(Direction::kResponses, &nobody);
  const std::string start = settings() + frame(kHeaders, kFlagEndHeaders, 1, "");
  parser.feed(start.data(), start.size());
  for (size_t i = 0; i < data.size(); ++i) {
    // Nothing is known before its header is complete.
    const size_t left = i < kFrameHeaderSize ? 0 : data.size() - i;
    EXPECT_EQ(parser.bytes_left(), left) << i;
    const FrameHeader* half = parser.unfinished_frame();
    ASSERT_EQ(half != nullptr, left != 0) << i;
    if (half != nullptr) {
      EXPECT_EQ(half->length, 8u);
      EXPECT_TRUE(half->has(kFlagEndStream));
    }
    parser.feed(data.data() + i, 1);
  }
  EXPECT_EQ(parser.unfinished_frame(), nullptr);
  EXPECT_TRUE(parser.at_boundary());
}

TEST(Frames, NothingMayInterruptAHeaderBlock) {
  const std::string open = frame(kHeaders, 0, 1, "ab");
  EXPECT_EQ(client_error(open + ping()), Error::kContinuationExpected);
  EXPECT_EQ(client_error(open + frame(kData, 0, 1, "")), Error::kContinuationExpected);
  EXPECT_EQ(client_error(open + frame(kContinuation, 4, 3, "")), Error::kContinuationExpected);
  EXPECT_EQ(client_error(open + frame(FrameType{0xfa}, 0, 0, "")), Error::kContinuationExpected);
  EXPECT_EQ(client_error(open + frame(kHeaders, 4, 1, "")), Error::kContinuationExpected);
  EXPECT_EQ(client_error(frame(kContinuation, 4, 1, "")), Error::kContinuationUnexpected);
  EXPECT_EQ(client_error(open + frame(kContinuation, 4, 1, "") + frame(kContinuation, 4, 1, "")),
            Error::kContinuationUnexpected);
}

TEST(Frames, EndlessContinuationIsBounded) {
  FrameTracer empty(Direction::kRequests);
  empty.feed(client_start() + frame(kHeaders, 0, 1, "ab"));
  uint32_t fed = 1;
  while (empty.feed(frame(kContinuation, 0, 1, "")) == Error::kNone) ++fed;
  EXPECT_EQ(empty.parser.error(), Error::kTooManyContinuations);
  EXPECT_EQ(fed, kMaxBlockFrames);
  FrameTracer full(Direction::kRequests);
  full.feed(client_start() + frame(kHeaders, 0, 1, "ab"));
  uint64_t bytes = 2;
  while (full.feed(frame(kContinuation, 0, 1, std::string(16000, 'x'))) == Error::kNone) {
    bytes += 16000;
  }
  EXPECT_EQ(full.parser.error(), Error::kHeaderBlockTooLarge);
  EXPECT_LE(bytes, kMaxHeaderBlock);
  EXPECT_GT(bytes + 16000, kMaxHeaderBlock);
}

TEST(Frames, DataWithPaddingCountsItForFlowControl) {
  EXPECT_EQ(client(frame(kData, kFlagPadded | kFlagEndStream, 1, padded("hello", 10)) +
                   frame(kData, 0, 1, "") + frame(kData, kFlagPadded, 1, padded("", 0))),
            (Lines{"frame 33 16 0 9 1", "data 1 16 1 hello", "frame 58 0 0 0 1", "data 1 0 0 ",
                   "frame 67 1 0 8 1", "data 1 1 0 "}));
}

TEST(Frames, PaddingLongerThanItsFrameIsAnError) {
  EXPECT_EQ(client_error(frame(kData, kFlagPadded, 1,
                               "\x05"
                               "abcd")),
            Error::kPadding);
  EXPECT_EQ(client_error(frame(kData, kFlagPadded, 1,
                               "\x04"
                               "abcd")),
            Error::kNone);
  EXPECT_EQ(client_error(frame(kHeaders, 0xc, 1,
                               "\x03"
                               "ab")),
            Error::kPadding);
  EXPECT_EQ(client_error(frame(kHeaders, 0x2c, 1,
                               "\x03"
                               "PRIORab")),
            Error::kPadding);
  EXPECT_EQ(server_error(frame(kPushPromise, 0xc, 1, "\x03" + u32(2) + "ab")), Error::kPadding);
}

TEST(Frames, TheOtherTypes) {
  EXPECT_EQ(client(frame(kRstStream, 0, 7, u32(8)) + frame(kWindowUpdate, 0, 0, u32(0x80000005)) +
                   frame(kWindowUpdate, 0, 9, u32(6)) + ping() + ping(true) +
                   frame(kGoaway, 0, 0, u32(0x80000003) + u32(2) + "why") +
                   frame(kPriority, 0, 11, "PRIOR") + frame(FrameType{0x42}, 0xff, 5, "anything")),
            (Lines{"frame 33 4 3 0 7", "reset 7 8", "frame 46 4 8 0 0", "window 0 5",
                   "frame 59 4 8 0 9", "window 9 6", "frame 72 8 6 0 0", "ping 0 01234567",
                   "frame 89 8 6 1 0", "ping 1 01234567", "frame 106 11 7 0 0", "goaway 3 2",
                   "frame 126 5 2 0 11", "frame 140 8 66 255 5"}));
}

TEST(Frames, APushPromiseIsTheServers) {
  FrameTracer t(Direction::kResponses);
  t.feed(settings() + frame(kPushPromise, kFlagEndHeaders, 1, u32(2) + "abc"));
  EXPECT_EQ(t.lines[3], "block 1 2 0 0 9 ");
  EXPECT_EQ(t.lines[4], "block end 1 9 25 1 9 7 4 25 0 abc");
  EXPECT_EQ(client_error(frame(kPushPromise, 4, 1, u32(2))), Error::kPushByClient);
  EXPECT_EQ(server_error(frame(kPushPromise, 4, 1, u32(3))), Error::kStreamId);
  EXPECT_EQ(server_error(frame(kPushPromise, 4, 1, u32(0))), Error::kStreamId);
}

TEST(Frames, LengthsThatATypeCannotHaveAreErrors) {
  for (const std::string& bytes :
       {frame(kSettings, 0, 0, "12345"), frame(kSettings, kFlagAck, 0, setting(1, 1)),
        frame(kPing, 0, 0, "1234567"), frame(kPing, 0, 0, "123456789"),
        frame(kRstStream, 0, 1, "123"), frame(kRstStream, 0, 1, "12345"),
        frame(kWindowUpdate, 0, 1, "123"), frame(kWindowUpdate, 0, 0, "12345"),
        frame(kGoaway, 0, 0, "1234567"), frame(kHeaders, kFlagPadded | 4, 1, ""),
        frame(kHeaders, kFlagPriority | 4, 1, "1234"), frame(kHeaders, 0x2c, 1, "12345"),
        frame(kData, kFlagPadded, 1, "")}) {
    EXPECT_EQ(client_error(bytes), Error::kFrameSize) << static_cast<int>(bytes[3]);
  }
  EXPECT_EQ(server_error(frame(kPushPromise, 4, 1, "123")), Error::kFrameSize);
  EXPECT_EQ(server_error(frame(kPushPromise, 0xc, 1, "1234")), Error::kFrameSize);
}

TEST(Frames, ErrorsOfOneStreamDoNotEndTheReading) {
  EXPECT_EQ(client(frame(kPriority, 0, 5, "1234") + frame(kWindowUpdate, 0, 7, u32(0)) + ping()),
            (Lines{"frame 33 4 2 0 5", "stream error 5 4", "frame 46 4 8 0 7", "stream error 7 11",
                   "frame 59 8 6 0 0", "ping 0 01234567"}));
  EXPECT_EQ(client_error(frame(kWindowUpdate, 0, 0, u32(0))), Error::kZeroIncrement);
}

TEST(Frames, StreamZeroIsForTheConnection) {
  for (FrameType type : {kData, kHeaders, kPriority, kContinuation}) {
    EXPECT_EQ(client_error(frame(type, 4, 0, "12345")), Error::kStreamZero);
  }
  EXPECT_EQ(client_error(frame(kRstStream, 0, 0, u32(0))), Error::kStreamZero);
  EXPECT_EQ(server_error(frame(kPushPromise, 4, 0, u32(2))), Error::kStreamZero);
  EXPECT_EQ(client_error(frame(kSettings, 0, 1, "")), Error::kNotStreamZero);
  EXPECT_EQ(client_error(frame(kPing, 0, 1, "12345678")), Error::kNotStreamZero);
  EXPECT_EQ(client_error(frame(kGoaway, 0, 1, "12345678")), Error::kNotStreamZero);
}

TEST(Frames, AFrameIsAsLongAsItsReaderAllows) {
  const std::string large = frame(kData, 0, 1, std::string(16385, 'x'));
  EXPECT_EQ(client_error(large), Error::kFrameTooLarge);
  EXPECT_EQ(client_error(frame(kData, 0, 1, std::string(16384, 'x'))), Error::kNone);
  FrameTracer t(Direction::kRequests);
  t.parser.allow_frame_size(16385);
  t.parser.allow_frame_size(16384);  // what is in flight may still be larger
  EXPECT_EQ(t.feed(client_start() + large), Error::kNone);
}

TEST(Frames, WhatMustNotLeaveYetIsTheHeaderBlockInProgress) {
  const std::string bytes = client_start() + frame(kData, 0, 1, "hello") +
                            frame(kHeaders, 0, 3, "abc") + frame(kContinuation, 4, 3, "d") + ping();
  FrameTracer t(Direction::kRequests);
  const uint64_t data = client_start().size(), head = data + 14, end = head + 22;
  for (size_t i = 0; i < bytes.size(); ++i) {
    t.feed(bytes.substr(i, 1));
    const uint64_t fed = i + 1;
    uint64_t expected = fed;
    if (fed > 24 && fed < 33) expected = 24;  // an unfinished frame header
    if (fed > data && fed < data + 9) expected = data;
    if (fed > head && fed < end) expected = head;
    if (fed > end && fed < end + 9) expected = end;
    EXPECT_EQ(t.parser.hold_from(), expected) << fed;
    EXPECT_EQ(t.parser.at_boundary(),
              fed == data || fed == head || fed == end || fed == bytes.size())
        << fed;
  }
}

TEST(Frames, DataThatGoesByUnseenIsSkipped) {
  FrameTracer t(Direction::kResponses);
  t.feed(settings() + frame(kData, kFlagEndStream, 1, "0123456789").substr(0, 11));
  EXPECT_EQ(t.parser.skip_data(8), Error::kNone);
  EXPECT_EQ(t.lines.back(), "data 1 10 1 01");
  t.feed(ping());
  EXPECT_EQ(t.lines.back(), "ping 0 01234567");
  EXPECT_EQ(t.parser.skip_data(1), Error::kFrameSize);
}

TEST(Frames, SettingsOfAnUpgradeComeBeforeTheStream) {
  FrameTracer t(Direction::kRequests);
  EXPECT_TRUE(t.parser.preset_settings(setting(4, 5).data(), 6));
  EXPECT_EQ(t.parser.settings().initial_window_size, 5u);
  EXPECT_FALSE(FrameTracer(Direction::kRequests).parser.preset_settings("12345", 5));
  EXPECT_EQ(t.feed(client_start()), Error::kNone);
  EXPECT_EQ(t.parser.settings().initial_window_size, 5u);
}

TEST(Frames, EverySplitGivesTheSame) {
  const std::string good = client_start() + settings(setting(1, 1) + setting(4, 2)) +
                           settings_ack() + frame(kHeaders, 0x2c, 1, padded("PRIORabcdef", 3)) +
                           frame(kData, 9, 1, padded("hello", 4)) + frame(kHeaders, 0, 3, "ab") +
                           frame(kContinuation, 0, 3, "") + frame(kContinuation, 4, 3, "c") +
                           frame(kGoaway, 0, 0, u32(3) + u32(0) + "bye") + ping() +
                           frame(kRstStream, 0, 3, u32(8)) + frame(kPriority, 0, 5, "PRIOR") +
                           frame(FrameType{0x20}, 0, 0, "x") + frame(kWindowUpdate, 0, 0, u32(5)) +
                           frame(kData, 1, 3, "");
  for (const std::string& tail :
       {std::string(), frame(kPing, 0, 3, "12345678"),
        frame(kData, 8, 3,
              "\x09"
              "ab"),
        frame(kContinuation, 4, 3, ""), settings(setting(1, 5) + setting(5, 1) + setting(1, 1)),
        frame(kHeaders, 4, 3, "some").substr(0, 11)}) {
    const std::string bytes = good + tail;
    FrameTracer whole(Direction::kRequests);
    whole.feed(bytes);
    EXPECT_GT(whole.lines.size(), 25u);
    for_every_split(bytes, [&](const Parts& pieces) {
      FrameTracer t(Direction::kRequests);
      for (std::string_view piece : pieces) t.feed(piece);
      ASSERT_EQ(t.lines, whole.lines);
      ASSERT_EQ(t.parser.error(), whole.parser.error());
      ASSERT_EQ(t.parser.hold_from(), whole.parser.hold_from());
    });
  }
}

TEST(Frames, EveryErrorHasAPhraseOfItsOwn) {
  std::vector<std::string> seen;
  for (uint8_t e = 0; e < static_cast<uint8_t>(Error::kCount); ++e) {
    seen.emplace_back(describe(static_cast<Error>(e)));
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
  EXPECT_EQ(describe(Error::kCount), "unknown");
  EXPECT_EQ(to_name(ErrorCode::kNoError), "NO_ERROR");
  EXPECT_EQ(to_name(ErrorCode::kRefusedStream), "REFUSED_STREAM");
  EXPECT_EQ(to_name(ErrorCode::kHttp11Required), "HTTP_1_1_REQUIRED");
  EXPECT_EQ(to_name(static_cast<ErrorCode>(14)), "");
}

}  // namespace
}  // namespace filibuster::http2
