#include "core/fault/fault.h"

#include <gtest/gtest.h>

#include <cstring>

namespace filibuster {
namespace {

FaultSpec parsed(std::string_view text) {
  auto fault = parse_fault(text);
  EXPECT_TRUE(fault.ok()) << text << ": " << (fault.ok() ? "" : fault.error().message);
  return fault.ok() ? fault.value() : FaultSpec{};
}

TEST(FaultText, EveryFormRoundTrips) {
  for (const char* text : {"refused", "reset", "reset:after", "timeout", "timeout:after",
                           "status:200", "status:503", "status:599", "status:503:after"}) {
    EXPECT_EQ(to_text(parsed(text)), text);
  }
}

TEST(FaultText, SaysKindStatusAndEffect) {
  EXPECT_EQ(parsed("refused").kind, FaultKind::kRefused);
  EXPECT_EQ(parsed("reset").kind, FaultKind::kReset);
  EXPECT_FALSE(parsed("reset").after_effect);
  EXPECT_TRUE(parsed("reset:after").after_effect);
  EXPECT_EQ(parsed("timeout").kind, FaultKind::kTimeout);
  const FaultSpec status = parsed("status:404:after");
  EXPECT_EQ(status.kind, FaultKind::kStatus);
  EXPECT_EQ(status.status, 404);
  EXPECT_TRUE(status.after_effect);
}

TEST(FaultText, WhatIsNotAFaultIsRefusedWithTheAcceptedForms) {
  for (const char* text : {"",
                           ":",
                           "none",
                           "Refused",
                           "refused ",
                           "refused:",
                           "refused:after",
                           "refused:503",
                           "reset:",
                           "reset:before",
                           "reset:after:",
                           "reset:after:after",
                           "timeout:1",
                           "status",
                           "status:",
                           "status::after",
                           "status:199",
                           "status:600",
                           "status:99",
                           "status:5033",
                           "status:5x3",
                           "status:-20",
                           "status: 50",
                           "status:503:",
                           "status:503:before",
                           "status:503:after:x",
                           "503"}) {
    const auto fault = parse_fault(text);
    ASSERT_FALSE(fault.ok()) << text;
    const std::string& message = fault.error().message;
    EXPECT_EQ(message.find("'" + std::string(text) + "' is not a fault: "), 0u) << message;
    EXPECT_NE(message.find("status:503:after"), std::string::npos) << message;
  }
}

TEST(FaultText, NoFaultIsCalledNone) {
  EXPECT_EQ(to_text(FaultSpec{}), "none");
}

TEST(FaultKinds, HaveOneRowEachAndAreFoundByTheirName) {
  EXPECT_EQ(fault_kinds().size(), 4u);
  for (const FaultKindRow& row : fault_kinds()) {
    EXPECT_FALSE(row.meaning.empty());
    const std::string text = std::string(row.name) + (row.takes_status ? ":500" : "");
    EXPECT_EQ(parsed(text).kind, row.kind);
    EXPECT_EQ(parse_fault(text + ":after").ok(), row.can_be_after) << text;
  }
}

TEST(FaultDefaults, AreThoseOfTheDocumentation) {
  std::string all;
  for (const FaultSpec& fault : default_http_faults()) all += to_text(fault) + " ";
  EXPECT_EQ(all, "refused timeout status:500 status:502 status:503 ");
}

FaultSpec status_fault(uint16_t status, std::string body = "") {
  FaultSpec fault;
  fault.kind = FaultKind::kStatus;
  fault.status = status;
  fault.body = std::move(body);
  return fault;
}

TEST(FaultResponse, IsCompleteAndClosesTheConnection) {
  FaultSpec fault = status_fault(503, "{\"error\":1}");
  fault.headers = {{"Content-Type", "application/json"}, {"Retry-After", "1"}};
  const std::string head =
      "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 11\r\nConnection: close\r\n"
      "Content-Type: application/json\r\nRetry-After: 1\r\n\r\n";
  EXPECT_EQ(render_http_response(fault, false), head + "{\"error\":1}");
  EXPECT_EQ(render_http_response(fault, true), head);
}

TEST(FaultResponse, WithoutABodySaysSo) {
  EXPECT_EQ(render_http_response(status_fault(500), false),
            "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
}

TEST(FaultResponse, OfAnUnregisteredStatusHasAReasonToo) {
  for (uint16_t status : {299, 419, 599}) {
    EXPECT_EQ(render_http_response(status_fault(status), false)
                  .find("HTTP/1.1 " + std::to_string(status) + " Injected\r\n"),
              0u);
  }
}

TEST(FaultResponse, OfABodylessStatusHasNoBody) {
  EXPECT_EQ(render_http_response(status_fault(204, "x"), false),
            "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(render_http_response(status_fault(304, "x"), false),
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 1\r\nConnection: close\r\n\r\n");
}

TEST(FaultResponse, FieldsThatWouldBreakTheFramingAreLeftOut) {
  FaultSpec fault = status_fault(502);
  fault.headers = {{"Content-Length", "99"},
                   {"CONNECTION", "keep-alive"},
                   {"transfer-encoding", "chunked"},
                   {"", "empty"},
                   {"a b", "space"},
                   {"a:b", "colon"},
                   {"a\r\nX", "name"},
                   {"value", "x\r\nX: y"},
                   {"nul", std::string("a\0b", 3)},
                   {"kept", ""}};
  EXPECT_EQ(render_http_response(fault, false),
            "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\nkept: \r\n\r\n");
}

}  // namespace
}  // namespace filibuster
