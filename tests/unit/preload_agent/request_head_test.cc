#include "preload/rpc/request_head.h"

#include <gtest/gtest.h>

namespace filibuster::preload {
namespace {

http2::MessageHead call(std::string_view path, std::string_view type) {
  http2::MessageHead head;
  head.method = "POST";
  head.authority = "carts.example:50051";
  head.path = path;
  head.content_type = type;
  return head;
}

TEST(RequestHead, OfHttp1KnowsItsBodyByLengthOrChunks) {
  http1::MessageHead head;
  head.method = "PUT";
  head.target = "/a?b=c";
  head.host = "a.example";
  EXPECT_FALSE(request_head(head).has_body);
  head.has_content_length = true;
  EXPECT_FALSE(request_head(head).has_body);
  head.content_length = 7;
  EXPECT_TRUE(request_head(head).has_body);
  EXPECT_EQ(request_head(head).body_size, 7u);
  head.has_content_length = false;
  head.chunked = true;
  const RequestHead seen = request_head(head);
  EXPECT_TRUE(seen.has_body);
  EXPECT_EQ(seen.body_size, 0u);
  EXPECT_EQ(seen.target, "/a?b=c");
  EXPECT_EQ(seen.host, "a.example");
  EXPECT_FALSE(seen.http2 || seen.is_grpc());
}

TEST(RequestHead, OfHttp2KnowsGrpcByTypeAndPath) {
  const RequestHead seen =
      request_head(call("/shop.CartService/GetCart", "application/grpc+proto"), false);
  EXPECT_TRUE(seen.http2 && seen.is_grpc() && seen.has_body);
  EXPECT_EQ(seen.target, "/shop.CartService/GetCart");
  EXPECT_EQ(seen.host, "carts.example");
  EXPECT_FALSE(request_head(call("/shop.CartService/GetCart", "application/json"), true).is_grpc());
  EXPECT_FALSE(request_head(call("/carts", "application/grpc"), false).is_grpc());
  EXPECT_FALSE(request_head(call("/", "text/plain"), true).has_body);
}

TEST(RequestHead, CutsThePortOffAndNothingElse) {
  http2::MessageHead head = call("/", "");
  for (const auto& [authority, host] :
       {std::pair<std::string_view, std::string_view>{"a.example", "a.example"},
        {"a.example:80", "a.example"},
        {"[::1]", "[::1]"},
        {"[::1]:80", "[::1]"},
        {"", ""}}) {
    head.authority = authority;
    EXPECT_EQ(request_head(head, true).host, host);
  }
}

}  // namespace
}  // namespace filibuster::preload
