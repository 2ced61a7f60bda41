#include "daemon/proxy/go_request.h"

#include <gtest/gtest.h>

#include <cstring>

#include "bpf/attached.h"
#include "daemon/proxy/events.h"

namespace filibuster::proxy {
namespace {

template <size_t kSize>
void put(std::string_view text, uint32_t* size, char (&to)[kSize]) {
  *size = static_cast<uint32_t>(text.size());
  std::memcpy(to, text.data(), std::min(text.size(), kSize));
}

fb_request raw_request(std::string_view method, std::string_view host, std::string_view path,
                       std::string_view query) {
  fb_request raw{};
  put(method, &raw.method_size, raw.method);
  put(host, &raw.host_size, raw.host);
  put(path, &raw.path_size, raw.path);
  put(query, &raw.query_size, raw.query);
  return raw;
}

std::optional<GoRequest> read(const fb_request& raw) {
  return read_go_request({reinterpret_cast<const char*>(&raw), sizeof raw});
}

TEST(GoRequest, SaysMethodHostAndTarget) {
  const auto request = read(raw_request("POST", "movies:8443", "/movies/1", "full=1"));
  ASSERT_TRUE(request);
  EXPECT_EQ(*request, (GoRequest{"POST", "movies:8443", "/movies/1?full=1"}));
}

TEST(GoRequest, WithoutAMethodItIsAGetAndWithoutAPathTheRoot) {
  EXPECT_EQ(read(raw_request("", "movies", "", "")), (GoRequest{"GET", "movies", "/"}));
  EXPECT_EQ(read(raw_request("", "movies", "", "a=b")), (GoRequest{"GET", "movies", "/?a=b"}));
}

TEST(GoRequest, APathIsEscapedUnlessTheUrlSaysHowItIsSent) {
  fb_request raw = raw_request("GET", "movies", "/a%20b", "");
  raw.flags = FB_RAW_PATH;
  EXPECT_EQ(read(raw)->target, "/a%20b");
  raw.flags = 0;
  EXPECT_EQ(read(raw)->target, "/a%2520b");
}

// As net/url does it in encodePath.
TEST(GoRequest, OfAPathAllIsEscapedThatGoEscapes) {
  EXPECT_EQ(escaped_path("/aZ09-_.~$&+,/:;=@"), "/aZ09-_.~$&+,/:;=@");
  EXPECT_EQ(escaped_path("/a b?c#d%e\"!'()*[]\x7f"),
            "/a%20b%3Fc%23d%25e%22%21%27%28%29%2A%5B%5D%7F");
  EXPECT_EQ(escaped_path("/\xc3\xbc"), "/%C3%BC");
  EXPECT_EQ(escaped_path("*"), "*");
}

TEST(GoRequest, ALongTargetIsCutAndSaysSo) {
  const std::string query(FB_QUERY + 1, 'q');
  const auto request = read(raw_request("GET", "movies", "/", query));
  ASSERT_TRUE(request);
  EXPECT_TRUE(request->cut);
  EXPECT_EQ(request->target, "/?" + query.substr(1));
  EXPECT_FALSE(read(raw_request("GET", "movies", "/", query.substr(1)))->cut);
}

TEST(GoRequest, WhatNamesItIsNeverCut) {
  EXPECT_FALSE(read(raw_request(std::string(FB_METHOD + 1, 'M'), "movies", "/", "")));
  EXPECT_FALSE(read(raw_request("GET", std::string(FB_HOST + 1, 'h'), "/", "")));
  EXPECT_TRUE(read(raw_request(std::string(FB_METHOD, 'M'), std::string(FB_HOST, 'h'), "/", "")));
  const fb_request raw = raw_request("GET", "movies", "/", "");
  EXPECT_FALSE(read_go_request({reinterpret_cast<const char*>(&raw), sizeof raw - 1}));
}

TEST(GoRequest, HostileSizesReadNothingBeyondTheRecord) {
  fb_request raw = raw_request("GET", "movies", "/", "");
  raw.path_size = raw.query_size = 0xffffffff;
  const auto request = read(raw);
  ASSERT_TRUE(request);
  EXPECT_TRUE(request->cut);
  EXPECT_LE(request->target.size(), 3 * FB_PATH + 1 + FB_QUERY);
}

TEST(GoRequest, ComesBehindTheHeadOfItsEvent) {
  fb_event event{};
  event.kind = FB_CALL;
  event.call = 77;
  const fb_request raw = raw_request("GET", "movies", "/x", "");
  std::string record(reinterpret_cast<const char*>(&event), FB_EVENT_HEAD);
  record.append(reinterpret_cast<const char*>(&raw), sizeof raw);
  const auto read = read_event(record);
  ASSERT_TRUE(read && read->request);
  EXPECT_EQ(read->call, 77u);
  EXPECT_EQ(read->request->target, "/x");
}

}  // namespace
}  // namespace filibuster::proxy
