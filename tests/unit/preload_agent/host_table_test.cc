// Names that lead to services: how they are found in lane memory, and the addresses that stand for them.
#include "preload/session/host_table.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <cstring>
#include <memory>
#include <string>

namespace filibuster::preload {
namespace {

void add(LaneMemory* lane, uint16_t number, const std::string& name, uint16_t port,
         uint16_t real_port) {
  HostRow& row = lane->hosts[lane->host_count++];
  row.number = number;
  row.port = port;
  row.real_port = real_port;
  row.name_size = static_cast<uint8_t>(name.copy(row.name, sizeof row.name));
}

sockaddr_in at_ip4(const char* text, uint16_t port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(port);
  ::inet_pton(AF_INET, text, &out.sin_addr);
  return out;
}

sockaddr_in6 at_ip6(const char* text, uint16_t port) {
  sockaddr_in6 out{};
  out.sin6_family = AF_INET6;
  out.sin6_port = htons(port);
  ::inet_pton(AF_INET6, text, &out.sin6_addr);
  return out;
}

template <typename Address>
sockaddr* generic(Address* address) {
  return reinterpret_cast<sockaddr*>(address);
}

TEST(HostTable, NamesAreFoundAsDnsComparesThem) {
  auto lane = std::make_unique<LaneMemory>();
  EXPECT_EQ(number_of_name(lane.get(), "redis"), 0);
  add(lane.get(), 1, "redis", 6379, 20001);
  add(lane.get(), 2, "users.internal", 0, 20002);
  EXPECT_EQ(number_of_name(lane.get(), "redis"), 1);
  EXPECT_EQ(number_of_name(lane.get(), "Users.INTERNAL."), 2);
  for (const char* const other :
       {"", ".", "redi", "redis2", "users", "internal", "redis..", "[edis"})
    EXPECT_EQ(number_of_name(lane.get(), other), 0) << other;
}

TEST(HostTable, APortOfItsOwnComesBeforeAnyPort) {
  auto lane = std::make_unique<LaneMemory>();
  add(lane.get(), 1, "gateway", 0, 20001);
  add(lane.get(), 1, "gateway", 8080, 20002);
  add(lane.get(), 2, "redis", 6379, 20003);
  EXPECT_EQ(find_host(lane.get(), 1, 8080)->real_port, 20002);
  EXPECT_EQ(find_host(lane.get(), 1, 80)->real_port, 20001);
  EXPECT_EQ(find_host(lane.get(), 2, 6379)->real_port, 20003);
  EXPECT_EQ(find_host(lane.get(), 2, 80), nullptr);
  EXPECT_EQ(find_host(lane.get(), 3, 80), nullptr);
  EXPECT_EQ(find_any_port(lane.get(), 2)->real_port, 20003);
  EXPECT_EQ(find_any_port(lane.get(), 3), nullptr);
}

TEST(HostTable, ATableThatSaysTooMuchIsReadToItsEnd) {
  auto lane = std::make_unique<LaneMemory>();
  lane->host_count = 1u << 31;
  for (HostRow& row : lane->hosts) row.name_size = 255;
  EXPECT_EQ(number_of_name(lane.get(), "redis"), 0);
  EXPECT_EQ(find_host(lane.get(), 1, 80), nullptr);
}

TEST(HostTable, TheTextOfAnAddressIsAsLongAsTheName) {
  for (const size_t size :
       {size_t{1}, size_t{12}, size_t{13}, sizeof(HostRow::name), size_t{999}}) {
    for (const int number : {1, 256, 65535}) {
      char text[kAddressTextSize];
      write_address_text(static_cast<uint16_t>(number), size, text);
      EXPECT_GE(std::strlen(text), std::min(size, sizeof(HostRow::name)));
      in_addr address;
      ASSERT_EQ(::inet_aton(text, &address), 1) << text;
      sockaddr_in found = at_ip4("0.0.0.0", 80);
      found.sin_addr = address;
      EXPECT_EQ(number_of_address(generic(&found), sizeof found), number) << text;
    }
  }
}

TEST(HostTable, AnAddressIsThatOfANameOrAnother) {
  sockaddr_in own = at_ip4("127.87.1.2", 80), other = at_ip4("127.88.1.2", 80);
  sockaddr_in6 mapped = at_ip6("::ffff:127.87.1.2", 80), real6 = at_ip6("7f57::102", 80);
  EXPECT_EQ(number_of_address(generic(&own), sizeof own), 258);
  EXPECT_EQ(number_of_address(generic(&mapped), sizeof mapped), 258);
  EXPECT_EQ(number_of_address(generic(&other), sizeof other), 0);
  EXPECT_EQ(number_of_address(generic(&real6), sizeof real6), 0);
  EXPECT_EQ(number_of_address(generic(&own), sizeof own - 1), 0);
  EXPECT_EQ(number_of_address(generic(&mapped), sizeof mapped - 1), 0);
  EXPECT_EQ(number_of_address(generic(&own), 1), 0);
  EXPECT_EQ(number_of_address(nullptr, sizeof own), 0);
}

TEST(HostTable, AnAddressIsLedInItsOwnFamily) {
  constexpr uint8_t kTo[4] = {10, 1, 2, 3};
  sockaddr_in in = at_ip4("127.87.0.1", 6379);
  lead_address(generic(&in), kTo, 20001);
  const sockaddr_in wanted = at_ip4("10.1.2.3", 20001);
  EXPECT_EQ(std::memcmp(&in, &wanted, sizeof in), 0);
  sockaddr_in6 in6 = at_ip6("::ffff:127.87.0.1", 6379);
  EXPECT_EQ(port_of_address(generic(&in6)), 6379);
  lead_address(generic(&in6), kTo, 20001);
  const sockaddr_in6 wanted6 = at_ip6("::ffff:10.1.2.3", 20001);
  EXPECT_EQ(std::memcmp(&in6, &wanted6, sizeof in6), 0);
}

}  // namespace
}  // namespace filibuster::preload
