#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "preload/protocols/http2/plain_peers.h"
#include "preload/runtimes/grpc/target.h"

namespace filibuster::preload::grpc {
namespace {

// What is asked for once and not known stays so for its generation: every question is of a new one.
bool plain(std::string_view target) {
  static uint64_t generation = 0;
  return is_plain_target(target, ++generation);
}

void note_v4(const char* host, uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ASSERT_EQ(inet_pton(AF_INET, host, &address.sin_addr), 1);
  note_plain_peer(reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

void note_v6(const char* host, uint16_t port) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  ASSERT_EQ(inet_pton(AF_INET6, host, &address.sin6_addr), 1);
  note_plain_peer(reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

void note_unix(std::string_view path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  note_plain_peer(reinterpret_cast<const sockaddr*>(&address),
                  static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size()));
}

TEST(GrpcTarget, IsPlainWhereThisAddressWasSpokenToInTheClear) {
  note_v4("10.1.2.3", 5001);
  EXPECT_TRUE(plain("10.1.2.3:5001"));
  EXPECT_TRUE(plain("dns:10.1.2.3:5001"));
  EXPECT_TRUE(plain("dns:///10.1.2.3:5001"));
  EXPECT_TRUE(plain("ipv4:10.1.2.3:5001"));
  EXPECT_TRUE(plain("ipv4:10.1.2.3:5001,10.1.2.4:5001"));
  EXPECT_TRUE(plain("[::ffff:10.1.2.3]:5001"));  // mapped
  EXPECT_FALSE(plain("10.1.2.4:5001"));
  EXPECT_FALSE(plain("10.1.2.3:5002"));
}

TEST(GrpcTarget, AnAddressMayBeOfIpv6) {
  note_v6("2001:db8::7", 5011);
  EXPECT_TRUE(plain("[2001:db8::7]:5011"));
  EXPECT_TRUE(plain("ipv6:[2001:db8::7]:5011"));
  EXPECT_FALSE(plain("[2001:db8::8]:5011"));
  EXPECT_FALSE(plain("2001:db8::7"));  // of port 443
  note_v6("2001:db8::7", 443);
  EXPECT_TRUE(plain("2001:db8::7"));
  EXPECT_TRUE(plain("[2001:db8::7]"));
}

TEST(GrpcTarget, ANameIsJudgedByItsPort) {
  note_v4("10.1.2.3", 5021);
  EXPECT_TRUE(plain("cart:5021"));
  EXPECT_TRUE(plain("dns:///cart.shop.svc.cluster.local:5021"));
  EXPECT_TRUE(plain("dns://10.0.0.1:53/cart:5021"));
  EXPECT_TRUE(plain(std::string(200, 'c') + ":5021"));
  EXPECT_FALSE(plain("cart:5022"));
}

TEST(GrpcTarget, LoopbackHasManyNames) {
  EXPECT_FALSE(plain("localhost:5031"));
  note_v6("::1", 5031);
  EXPECT_TRUE(plain("localhost:5031"));
  EXPECT_TRUE(plain("127.0.0.1:5031"));
  EXPECT_TRUE(plain("[::1]:5031"));
}

TEST(GrpcTarget, UnixSocketsAreTheirPaths) {
  note_unix("/run/cart.sock");
  note_unix(std::string_view("\0cart", 5));
  EXPECT_TRUE(plain("unix:/run/cart.sock"));
  EXPECT_TRUE(plain("unix:///run/cart.sock"));
  EXPECT_TRUE(plain("unix-abstract:cart"));
  EXPECT_FALSE(plain("unix:/run/other.sock"));
  EXPECT_FALSE(plain("unix-abstract:other"));
  EXPECT_FALSE(plain("unix:" + std::string(200, 'c')));
}

TEST(GrpcTarget, WhatWasNotKnownInASessionIsNotBelievedInItLater) {
  EXPECT_FALSE(is_plain_target("10.1.2.3:5041", 1'000'001));
  note_v4("10.1.2.3", 5041);
  EXPECT_FALSE(is_plain_target("10.1.2.3:5041", 1'000'001));
  EXPECT_TRUE(is_plain_target("10.1.2.3:5041", 1'000'002));
  EXPECT_TRUE(is_plain_target("10.1.2.3:5041", 1'000'002));
}

TEST(GrpcTarget, WhatIsNoTargetIsNotPlain) {
  for (const char* text : {"", ":", "[]", "[]:", "cart:", "cart:x", "cart:99999", "dns:", "dns://",
                           "dns:///", "unix:", "unix-abstract:", "ipv4:", "ipv6:,", "cart:0"}) {
    EXPECT_FALSE(plain(text)) << text;
  }
}

}  // namespace
}  // namespace filibuster::preload::grpc
