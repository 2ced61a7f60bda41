#include <gtest/gtest.h>

#include "core/http1/message_parser.h"

namespace filibuster::http1 {
namespace {

Sniff of(std::string_view bytes) {
  return sniff(bytes.data(), bytes.size());
}

TEST(Sniff, KnowsARequestByItsMethod) {
  for (const char* bytes : {"GET /", "GET ", "POST / HTTP/1.1\r\n", "M-SEARCH *", "PROPFIND /x",
                            "\r\n\r\nDELETE /", "CONNECT a:1"}) {
    EXPECT_EQ(of(bytes), Sniff::kHttp1Request) << bytes;
  }
  for (const char* bytes : {"", "G", "GET", "PRO", "P", "\r\n", "\n", "M-SEARCH"}) {
    EXPECT_EQ(of(bytes), Sniff::kNeedMore) << bytes;
  }
  for (const char* bytes : {"GETX", "get /", "HELO", "HTTP/1.1 200 OK\r\n", "*1\r\n", "\r\nx",
                            "GET\t/", "PLAY rtsp://x", " GET /"}) {
    EXPECT_EQ(of(bytes), Sniff::kOther) << bytes;
  }
}

TEST(Sniff, DemandsTheWholeHttp2Preface) {
  const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  for (size_t size = 1; size < preface.size(); ++size) {
    EXPECT_EQ(of(preface.substr(0, size)), Sniff::kNeedMore);
  }
  EXPECT_EQ(of(preface), Sniff::kHttp2Preface);
  EXPECT_EQ(of(preface + "\0\0"), Sniff::kHttp2Preface);
  EXPECT_EQ(of("PRI * HTTP/2.0\r\n\r\nXX"), Sniff::kOther);
}

TEST(Sniff, KnowsTls) {
  EXPECT_EQ(of("\x16"), Sniff::kNeedMore);
  EXPECT_EQ(of("\x16\x03"), Sniff::kNeedMore);
  EXPECT_EQ(of("\x16\x03\x01"), Sniff::kTls);
  EXPECT_EQ(of("\x16\x03\x04zz"), Sniff::kTls);
  EXPECT_EQ(of("\x16\x03\x05"), Sniff::kOther);
  EXPECT_EQ(of("\x16\x03\xff"), Sniff::kOther);
  EXPECT_EQ(of("\x16\x02"), Sniff::kOther);
  EXPECT_EQ(of("\x15\x03\x01"), Sniff::kOther);
}

}  // namespace
}  // namespace filibuster::http1
