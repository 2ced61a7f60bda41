// What is read from lane memory, and how addresses and frames are named.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/fault/edge.h"
#include "core/fault/fault.h"
#include "preload/os/address.h"
#include "preload/rpc/counters.h"
#include "preload/rpc/plan.h"
#include "preload/runtimes/frame_filter.h"

namespace filibuster::preload {
namespace {

PlanEntry entry(uint64_t index, FaultKind kind, uint64_t connect = 0) {
  PlanEntry out{};
  out.index = {index, index};
  out.connect_key = {connect, connect};
  out.kind = static_cast<uint8_t>(kind);
  return out;
}

TEST(Plan, IsFoundByIndex) {
  auto lane = std::make_unique<LaneMemory>();
  lane->plan[0] = entry(1, FaultKind::kReset);
  lane->plan[1] = entry(2, FaultKind::kStatus);
  lane->plan_count = 2;
  PlanEntry found;
  EXPECT_EQ(find_planned(lane.get(), {2, 2}, &found), PlanLookup::kPlanned);
  EXPECT_EQ(found.kind, static_cast<uint8_t>(FaultKind::kStatus));
  EXPECT_EQ(find_planned(lane.get(), {3, 3}, &found), PlanLookup::kAbsent);
}

// Faults that wait for a call: entry i has the edge of `edges[i]` and the arm i + 1.
std::unique_ptr<LaneMemory> armed_lane(const std::vector<Edge>& edges) {
  auto lane = std::make_unique<LaneMemory>();
  for (const Edge& each : edges) {
    PlanEntry out = entry(0, FaultKind::kReset);
    out.edge = edge_hash({each.caller, each.service, each.method, each.path});
    out.id = lane->plan_count;
    out.arm = ++lane->plan_count;
    lane->plan[out.id] = out;
  }
  return lane;
}
void arm(LaneMemory* lane, uint32_t number, uint32_t execution, uint32_t calls) {
  lane->arms[number - 1].left = uint64_t{execution} << 32 | calls;
}
// The number of the arm that this call takes; 0: none.
uint32_t taken(LaneMemory* lane, uint32_t execution, const EdgeView& call) {
  PlanEntry found;
  const auto edges = edges_of(call);
  return take_armed(lane, edges, execution, &found) == PlanLookup::kPlanned ? found.arm : 0;
}

TEST(Plan, AnArmedFaultWaitsForACallOfItsEdge) {
  const auto lane = armed_lane({{"web", "queue", "POST", "/dequeue"}, {"", "queue", "", ""}});
  const EdgeView dequeue{"web", "queue", "POST", "/dequeue"},
      enqueue{"web", "queue", "POST", "/enqueue"};
  // Nothing is armed.
  EXPECT_EQ(taken(lane.get(), 4, dequeue), 0u);
  arm(lane.get(), 1, 4, 1);
  EXPECT_EQ(taken(lane.get(), 4, enqueue), 0u);
  EXPECT_EQ(taken(lane.get(), 4, {"other", "queue", "POST", "/dequeue"}), 0u);
  EXPECT_EQ(taken(lane.get(), 5, dequeue), 0u) << "it is armed in another execution";
  EXPECT_EQ(taken(lane.get(), 4, dequeue), 1u);
  EXPECT_EQ(taken(lane.get(), 4, dequeue), 0u) << "it fires once";
  // The second one fits any call to the queue, here the third of them.
  arm(lane.get(), 2, 4, 3);
  EXPECT_EQ(taken(lane.get(), 4, enqueue), 0u);
  EXPECT_EQ(taken(lane.get(), 4, {"web", "stock", "GET", "/"}), 0u);
  EXPECT_EQ(taken(lane.get(), 4, dequeue), 0u);
  EXPECT_EQ(taken(lane.get(), 4, enqueue), 2u);
}

TEST(Plan, ACallTakesOneArmedFaultAndCountsForTheOthers) {
  const auto lane =
      armed_lane({{"", "queue", "", ""}, {"", "queue", "", ""}, {"", "queue", "", ""}});
  const EdgeView call{"web", "queue", "POST", "/dequeue"};
  arm(lane.get(), 1, 4, 1);
  arm(lane.get(), 2, 4, 1);
  arm(lane.get(), 3, 4, 3);
  EXPECT_EQ(taken(lane.get(), 4, call), 1u);
  EXPECT_EQ(taken(lane.get(), 4, call), 2u);
  EXPECT_EQ(taken(lane.get(), 4, call), 3u);
  EXPECT_EQ(taken(lane.get(), 4, call), 0u);
}

TEST(Plan, ARefusalIsFoundByThePlaceOfItsConnectWhenItsTurnHasCome) {
  auto lane = std::make_unique<LaneMemory>();
  const Hash128 place{20, 20}, service_place{21, 21};
  const auto at = [&](uint64_t index, FaultKind kind, uint64_t connect, uint32_t number) {
    PlanEntry out = entry(index, kind, connect);
    out.place = place;
    out.service_place = service_place;
    out.number = number;
    return out;
  };
  lane->plan[0] = at(1, FaultKind::kReset, 7, 1);
  lane->plan[1] = at(2, FaultKind::kRefused, 8, 2);
  lane->plan[2] = at(3, FaultKind::kRefused, 8, 3);
  lane->plan[3] = at(4, FaultKind::kRefused, 9, 1);
  lane->plan[3].number = 0;
  lane->plan[3].service_number = 1;
  lane->plan[4] = at(5, FaultKind::kRefused, 10, 0);
  lane->plan_count = 5;
  const auto found_at = [&](uint64_t connect) {
    PlanEntry found;
    return find_planned_connect(lane.get(), {connect, connect}, 4, &found) == PlanLookup::kPlanned
               ? found.index.lo
               : 0;
  };
  EXPECT_EQ(found_at(7), 0u) << "a reset comes with its request";
  EXPECT_EQ(found_at(8), 0u) << "the first connect is for another RPC";
  EXPECT_EQ(found_at(9), 4u);
  EXPECT_EQ(found_at(10), 0u) << "its number is not known";
  count_invocation(lane.get(), execution_key(place, 3));
  EXPECT_EQ(found_at(8), 0u) << "of another execution";
  count_invocation(lane.get(), execution_key(place, 4));
  EXPECT_EQ(found_at(8), 2u);
  count_invocation(lane.get(), execution_key(place, 4));
  EXPECT_EQ(found_at(8), 3u);
  count_invocation(lane.get(), execution_key(service_place, 4));
  EXPECT_EQ(found_at(9), 0u);
  count_beyond(lane.get(), execution_key(Hash128{22, 22}, 4));
  lane->plan[4].place = {22, 22};
  lane->plan[4].number = 1;
  EXPECT_EQ(found_at(10), 0u) << "nothing is counted there any more";
  lane->plan[4].place = {23, 23};
  EXPECT_EQ(found_at(10), 5u);
  lane->plan[4].service_number = 3;
  EXPECT_EQ(found_at(10), 0u) << "of another call site of the path one more is to come";
  count_invocation(lane.get(), execution_key(service_place, 4));
  EXPECT_EQ(found_at(10), 5u);
}

TEST(Plan, ThatIsBeingWrittenIsNotGuessed) {
  auto lane = std::make_unique<LaneMemory>();
  lane->plan[0] = entry(1, FaultKind::kReset);
  lane->plan_count = 1;
  lane->plan_sequence.store(3);
  PlanEntry found;
  EXPECT_EQ(find_planned(lane.get(), {1, 1}, &found), PlanLookup::kUnreadable);
}

TEST(Plan, GarbageInTheCountIsBorne) {
  auto lane = std::make_unique<LaneMemory>();
  lane->plan_count = ~0u;
  lane->target_count = ~0u;
  PlanEntry found;
  EXPECT_EQ(find_planned(lane.get(), {1, 1}, &found), PlanLookup::kAbsent);
  Target128 row;
  Target128 wanted{};
  wanted.kind = TargetKind::kIpv4;
  EXPECT_FALSE(find_target(lane.get(), wanted, &row));
}

TEST(Plan, ALeaseIsFreshForOneSecond) {
  auto lane = std::make_unique<LaneMemory>();
  EXPECT_FALSE(lease_fresh(lane.get(), 5)) << "never renewed";
  lane->lease_ns.store(10);
  EXPECT_TRUE(lease_fresh(lane.get(), 10 + kLeaseNs - 1));
  EXPECT_FALSE(lease_fresh(lane.get(), 10 + kLeaseNs));
  EXPECT_TRUE(lease_fresh(lane.get(), 5)) << "renewed since the time was taken";
}

TEST(Plan, AResponseIsCopiedWithinItsBounds) {
  auto lane = std::make_unique<LaneMemory>();
  std::memcpy(lane->blob + 100, "HEAD+BODY", 9);
  PlanEntry e = entry(1, FaultKind::kStatus);
  e.blob_offset = 100;
  e.blob_size = 9;
  e.blob_head_size = 4;
  lane->plan[0] = e;
  lane->plan_count = 1;
  char out[16];
  EXPECT_EQ(copy_blob(lane.get(), e, false, out, sizeof out), 9u);
  EXPECT_EQ(copy_blob(lane.get(), e, true, out, sizeof out), 4u);
  EXPECT_EQ(copy_blob(lane.get(), e, false, out, 8), 0u) << "does not fit";
  lane->plan[0].index = {5, 5};
  EXPECT_EQ(copy_blob(lane.get(), e, false, out, sizeof out), 0u) << "another plan by now";
  e.blob_offset = kBlobSize - 1;
  EXPECT_EQ(copy_blob(lane.get(), e, false, out, sizeof out), 0u) << "out of the lane";
}

sockaddr_in ip4(const char* text, uint16_t port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(port);
  inet_pton(AF_INET, text, &out.sin_addr);
  return out;
}
sockaddr_in6 ip6(const char* text, uint16_t port) {
  sockaddr_in6 out{};
  out.sin6_family = AF_INET6;
  out.sin6_port = htons(port);
  inet_pton(AF_INET6, text, &out.sin6_addr);
  return out;
}
template <typename Address>
const sockaddr* generic(const Address& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}
template <typename Address>
std::string written(const Address& address) {
  char out[128];
  return {out, write_address(generic(address), sizeof address, out, sizeof out)};
}
template <typename Address>
TargetKind kind_of(const Address& address) {
  return canonical_address(generic(address), sizeof address).kind;
}

TEST(Addresses, AreWrittenAsPeopleWriteThem) {
  EXPECT_EQ(written(ip4("127.0.0.1", 5001)), "127.0.0.1:5001");
  EXPECT_EQ(written(ip6("::1", 80)), "[::1]:80");
  EXPECT_EQ(written(ip6("::", 80)), "[::]:80");
  EXPECT_EQ(written(ip6("2001:db8:0:0:1:0:0:1", 8080)), "[2001:db8::1:0:0:1]:8080");
  EXPECT_EQ(written(ip6("fe80::", 1)), "[fe80::]:1");
  EXPECT_EQ(written(ip6("1:2:3:4:5:6:7:8", 65535)), "[1:2:3:4:5:6:7:8]:65535");
  EXPECT_EQ(written(ip6("::ffff:10.1.2.3", 7)), "10.1.2.3:7");
  sockaddr_un un{};
  un.sun_family = AF_UNIX;
  std::memcpy(un.sun_path, "/run/x.sock", 12);
  EXPECT_EQ(written(un), "unix:/run/x.sock");
}

// What the lane of these rows calls the address; "": nothing.
std::string service_at(const std::vector<std::pair<sockaddr_in, std::string>>& rows,
                       const sockaddr* address, socklen_t size) {
  auto lane = std::make_unique<LaneMemory>();
  for (const auto& [listener, name] : rows) {
    Target128 row = canonical_address(generic(listener), sizeof listener);
    row.service_size = static_cast<uint8_t>(name.size());
    std::memcpy(row.service, name.data(), name.size());
    lane->targets[lane->target_count++] = row;
  }
  Target128 found;
  if (!find_target(lane.get(), canonical_address(address, size), &found)) return "";
  return {found.service, found.service_size};
}
template <typename Address>
std::string service_at(const std::vector<std::pair<sockaddr_in, std::string>>& rows,
                       const Address& address) {
  return service_at(rows, generic(address), sizeof address);
}

TEST(Addresses, ALoopbackAddressIsItsListenersElseThatOfAll) {
  const std::vector<std::pair<sockaddr_in, std::string>> rows = {
      {ip4("0.0.0.0", 80), "all"},
      {ip4("127.0.0.21", 80), "users"},
      {ip4("127.0.0.22", 80), "movies"},
      {ip4("127.0.0.1", 81), "localhost"},
      {ip4("127.0.0.22", 82), "elsewhere"}};
  EXPECT_EQ(service_at(rows, ip4("127.0.0.21", 80)), "users");
  EXPECT_EQ(service_at(rows, ip6("::ffff:127.0.0.22", 80)), "movies");
  EXPECT_EQ(service_at(rows, ip4("127.0.0.23", 80)), "all");
  EXPECT_EQ(service_at(rows, ip6("::1", 80)), "all");
  EXPECT_EQ(service_at(rows, ip6("::1", 81)), "localhost");
  EXPECT_EQ(service_at(rows, ip4("0.0.0.0", 81)), "localhost") << "there one arrives";
  EXPECT_EQ(service_at(rows, ip4("127.0.0.1", 82)), "");
  EXPECT_EQ(service_at(rows, ip4("10.0.0.1", 80)), "");
}

TEST(Addresses, LoopbackInEveryFormIsOneKindOfTarget) {
  for (const char* text : {"127.0.0.1", "127.9.9.9", "0.0.0.0"})
    EXPECT_EQ(kind_of(ip4(text, 1)), TargetKind::kLoopback) << text;
  for (const char* text : {"::1", "::", "::ffff:127.0.0.1"})
    EXPECT_EQ(kind_of(ip6(text, 1)), TargetKind::kLoopback) << text;
  EXPECT_EQ(kind_of(ip4("10.0.0.1", 1)), TargetKind::kIpv4);
  EXPECT_EQ(kind_of(ip6("::ffff:10.0.0.1", 1)), TargetKind::kIpv4);
  EXPECT_EQ(kind_of(ip6("::2", 1)), TargetKind::kIpv6);
  sockaddr other{};
  EXPECT_EQ(canonical_address(&other, sizeof other).kind, TargetKind::kEmpty);
  EXPECT_EQ(canonical_address(nullptr, 0).kind, TargetKind::kEmpty);
}

TEST(Addresses, OfOneNameAreToldApartWithoutTheirPort) {
  const auto identity = [](const auto& a) { return address_identity(generic(a), sizeof a); };
  EXPECT_EQ(identity(ip4("127.0.0.1", 1)), identity(ip4("127.0.0.1", 2)));
  EXPECT_NE(identity(ip4("127.0.0.1", 1)), identity(ip6("::1", 1)));
}

TEST(Addresses, LoseOnlyTheirPort) {
  EXPECT_EQ(without_port("127.0.0.1:80"), "127.0.0.1");
  EXPECT_EQ(without_port("[::1]:80"), "[::1]");
  EXPECT_EQ(without_port("unix:/a:b"), "unix:/a:b");
}

TEST(Frames, OfRuntimesAndLibrariesAreDropped) {
  for (const char* path : {"/usr/lib/x86_64-linux-gnu/libc.so.6", "/opt/libfilibuster.so",
                           "/usr/lib/libcurl-gnutls.so.4", "/usr/bin/python3.11", "libstdc++.so.6"})
    EXPECT_TRUE(is_runtime_module(path)) << path;
  for (const char* path : {"/srv/app/users", "/srv/libmovies.so", "/srv/python_service"})
    EXPECT_FALSE(is_runtime_module(path)) << path;
  for (const char* file : {"/usr/lib/python3.11/http/client.py", "<frozen importlib._bootstrap>",
                           "/usr/lib/python3/dist-packages/requests/api.py",
                           "/srv/venv/lib/python3.12/site-packages/flask/app.py"})
    EXPECT_TRUE(is_library_file(file)) << file;
  EXPECT_FALSE(is_library_file("/srv/app/users.py"));
}

TEST(Frames, OnAnotherMachineHaveTheSameHash) {
  EXPECT_EQ(frame_hash("/home/a/app/users.py", 3, "get"),
            frame_hash("/srv/app/users.py", 3, "get"));
  EXPECT_NE(frame_hash("/srv/app/users.py", 3, "get"), frame_hash("/srv/app/users.py", 4, "get"));
  EXPECT_NE(frame_hash("/srv/app/users.py", 3, "get"), frame_hash("/srv/app/users.py", 3, "put"));
  EXPECT_EQ(last_two_components("/a/b/c.py"), "b/c.py");
  EXPECT_EQ(last_two_components("b/c.py"), "b/c.py");
  EXPECT_EQ(last_two_components("/c.py"), "/c.py");
  EXPECT_EQ(last_two_components("c.py"), "c.py");
}

}  // namespace
}  // namespace filibuster::preload
