#include "core/resp/render.h"

#include <gtest/gtest.h>

#include "tests/unit/resp/trace.h"

namespace filibuster::resp {
namespace {

std::string error_text(std::string_view code, std::string_view message) {
  char out[128];
  return {out, error_reply(out, sizeof out, code, message)};
}

TEST(RespRender, AnErrorIsOneLine) {
  EXPECT_EQ(error_text("LOADING", "Redis is loading"), "-LOADING Redis is loading\r\n");
  EXPECT_EQ(error_text("ERR", "a\r\nb\nc"), "-ERR a  b c\r\n");
  EXPECT_EQ(error_text("E\rR", "x"), "-E R x\r\n");
  EXPECT_EQ(error_text("READONLY", ""), "-READONLY\r\n");
}

TEST(RespRender, AnErrorIsReadAsItWasMeant) {
  ReplyTracer t;
  EXPECT_EQ(t.feed(error_text("OOM", "command not allowed\r\n")), ReplyState::kStart);
  ASSERT_EQ(t.all.size(), 1u);
  EXPECT_EQ(t.all[0].error_code, "OOM");
}

TEST(RespRender, NilHasTheFormOfItsProtocol) {
  char out[8];
  EXPECT_EQ(std::string(out, nil_reply(out, sizeof out, 2)), "$-1\r\n");
  EXPECT_EQ(std::string(out, nil_reply(out, sizeof out, 3)), "_\r\n");
}

TEST(RespRender, WhatHasNoRoomIsNotWritten) {
  char out[32];
  EXPECT_EQ(error_reply(out, 8, "ERR", "a"), 8u);
  EXPECT_EQ(error_reply(out, 7, "ERR", "a"), 0u);
  EXPECT_EQ(nil_reply(out, 5, 2), 5u);
  EXPECT_EQ(nil_reply(out, 4, 2), 0u);
  EXPECT_EQ(nil_reply(out, 2, 3), 0u);
}

}  // namespace
}  // namespace filibuster::resp
