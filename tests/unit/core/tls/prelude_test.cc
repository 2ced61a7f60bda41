#include "core/tls/prelude.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

namespace filibuster::tls {
namespace {

const std::string kSslRequest("\0\0\0\x08\x04\xd2\x16\x2f", 8);

TEST(Prelude, IsToldByTheFirstBytes) {
  EXPECT_EQ(sniff_prelude("CONNECT shop:443 HTTP/1.1\r\n"), Prelude::kConnect);
  EXPECT_EQ(sniff_prelude(kSslRequest), Prelude::kPostgres);
  for (size_t size = 0; size < kSslRequest.size(); ++size)
    EXPECT_EQ(sniff_prelude(kSslRequest.substr(0, size)), Prelude::kNeedMore) << size;
  EXPECT_EQ(sniff_prelude("CONNECT"), Prelude::kNeedMore);
  // The StartupMessage of PostgreSQL's protocol 3.0.
  EXPECT_EQ(sniff_prelude(std::string("\0\0\0\x08\0\x03\0\0", 8)), Prelude::kNone);
  EXPECT_EQ(sniff_prelude("CONNECTX"), Prelude::kNone);
  EXPECT_EQ(sniff_prelude("\x16\x03\x01"), Prelude::kNone);
}

TEST(Prelude, TheTargetOfAConnect) {
  const auto check = [](const char* first, const char* host, uint16_t port) {
    const Authority found = connect_authority(first);
    EXPECT_EQ(found.host, host) << first;
    if (!found.host.empty()) {
      EXPECT_EQ(found.port, port) << first;
    }
  };
  check("CONNECT shop.example:443 HTTP/1.1\r\nHost: x\r\n\r\n", "shop.example", 443);
  check("CONNECT 127.0.0.1:8080 HTTP/1.0\r\n", "127.0.0.1", 8080);
  check("CONNECT [::1]:8443 HTTP/1.1\r\n", "::1", 8443);
  check("CONNECT shop.example:443", "", 0);  // it may go on
  check("CONNECT shop.example HTTP/1.1\r\n", "", 0);
  check("CONNECT shop:99999 HTTP/1.1\r\n", "", 0);
  check("CONNECT shop:4x HTTP/1.1\r\n", "", 0);
  check("GET / HTTP/1.1\r\n", "", 0);
}

}  // namespace
}  // namespace filibuster::tls
