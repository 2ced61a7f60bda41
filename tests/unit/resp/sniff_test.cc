#include <gtest/gtest.h>

#include "tests/unit/resp/trace.h"

namespace filibuster::resp {
namespace {

Sniff sniff_text(std::string_view text) {
  const std::vector<char> copy(text.begin(), text.end());
  return sniff(copy.data(), copy.size());
}

TEST(RespSniff, EveryBeginningOfACommandNeedsMoreUntilItsNameIsComplete) {
  for (const std::string name : {"PING", "get", "JSON.SET", "FT._LIST", "RESTORE-ASKING", "_x"}) {
    const std::string bytes = array({name, "argument"});
    const size_t enough = bytes.find("argument") - 4;
    for (size_t size = 0; size <= bytes.size(); ++size) {
      EXPECT_EQ(sniff_text(bytes.substr(0, size)),
                size < enough ? Sniff::kNeedMore : Sniff::kCommand)
          << name << " " << size;
    }
  }
}

TEST(RespSniff, TheLongestDecisionTakesItsBound) {
  const std::string bytes = "*1048576\r\n$64\r\n" + std::string(64, 'A') + "\r\n$1\r\nx\r\n";
  EXPECT_EQ(sniff_text(bytes.substr(0, kMaxSniff - 1)), Sniff::kNeedMore);
  EXPECT_EQ(sniff_text(bytes.substr(0, kMaxSniff)), Sniff::kCommand);
}

TEST(RespSniff, WhatOnlyLooksLikeACommandIsNone) {
  for (const char* bytes : {"PING\r\n",
                            "GET / HTTP/1.1\r\n",
                            "\r\n",
                            "\x16\x03\x01",
                            "+OK\r\n",
                            "$4\r\n",
                            "*0\r\n",
                            "*-1\r\n",
                            "*x",
                            "*01",
                            "*1\n",
                            "*1048577",
                            "*1\r\n+",
                            "*1\r\n$0\r\n",
                            "*1\r\n$-1\r\n",
                            "*1\r\n$65",
                            "*1\r\n$4\r\nPI G\r\n",
                            "*1\r\n$4\r\n1234",
                            "*1\r\n$4\r\nPINGx",
                            "*1\r\n$4\r\nPING\n",
                            "*1\r\n$4\r\nPING\rx",
                            "*1\r\n$1\r\n.",
                            "*1\r\n$2\r\n\xc3\xa9"}) {
    EXPECT_EQ(sniff_text(bytes), Sniff::kOther) << bytes;
  }
}

}  // namespace
}  // namespace filibuster::resp
