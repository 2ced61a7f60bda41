// How often dependencies are called, compared with what is stated (dissertation 11.2.1, 11.2.2).
#include "daemon/principled/counts.h"

#include <gtest/gtest.h>

namespace filibuster::principled {
namespace {

using Json = nlohmann::json;

DependencyCall call(const std::string& path, bool reached = true, bool faulted = false,
                    Json arguments = nullptr) {
  DependencyCall out;
  out.call.service = "shop";
  out.call.method = "POST";
  out.call.path = path;
  out.call.arguments = std::move(arguments);
  out.reached = reached;
  out.faulted = faulted;
  return out;
}

Count count(const Json& key, uint64_t times) {
  return {read_key(key).value(), times, false, "test.py:1"};
}
Count read_only(const Json& key) {
  return {read_key(key).value(), 0, true, "test.py:2"};
}

std::string wrong(const Statements& statements, const std::vector<DependencyCall>& calls,
                  const std::vector<DependencyCall>& before = {}, bool thrown = false) {
  std::vector<FaultedCall> faults;
  for (const DependencyCall& each : calls) {
    if (each.faulted) faults.push_back({{each.call, "status:503"}, "503", "", {}});
  }
  const auto found =
      wrong_count({statements, calls, faults.empty() ? nullptr : &before, faults, thrown});
  return found ? std::string(diagnostic_name(found->kind)) : "";
}

TEST(Counts, WithoutFaultsTheyAreAsStated) {
  Statements statements;
  statements.counts = {count("POST /a", 2), count("POST /b", 0)};
  EXPECT_EQ(wrong(statements, {call("/a"), call("/a")}), "");
  EXPECT_EQ(wrong(statements, {call("/a")}), "stub-count-differs");
  EXPECT_EQ(wrong(statements, {call("/a"), call("/a"), call("/b")}), "stub-count-differs");
}

TEST(Counts, FallByTheFaultsThatKeptRequestsAway) {
  Statements statements;
  statements.counts = {count("POST /a", 3)};
  const auto faulted = call("/a", /*reached=*/false, /*faulted=*/true);
  const auto after = call("/a", /*reached=*/true, /*faulted=*/true);
  EXPECT_EQ(wrong(statements, {call("/a"), call("/a"), faulted}), "");
  EXPECT_EQ(wrong(statements, {call("/a"), faulted, faulted}), "");
  EXPECT_EQ(wrong(statements, {call("/a"), call("/a"), after}), "");
  EXPECT_EQ(wrong(statements, {call("/a"), faulted}),
            "assertions-did-not-hold-under-error-response");
}

TEST(Counts, OfAKeyWithArgumentsFallByItsOwnFaults) {
  Statements statements;
  statements.counts = {count({{"path", "/a"}, {"fields", {{"/code", "A"}}}}, 1),
                       count({{"path", "/a"}, {"fields", {{"/code", "B"}}}}, 1)};
  EXPECT_EQ(wrong(statements, {call("/a", false, true, {{"code", "A"}}),
                               call("/a", true, false, {{"code", "B"}})}),
            "");
  EXPECT_EQ(wrong(statements, {call("/a", false, true, {{"code", "A"}})}),
            "assertions-did-not-hold-under-error-response");
}

TEST(Counts, WhatComesAfterTheFaultIsDeclaredAgainWhereAnErrorIsThrown) {
  Statements statements;
  statements.counts = {count("POST /a", 1), count("POST /b", 1), count("POST /c", 1)};
  const std::vector<DependencyCall> all = {call("/a"), call("/b"), call("/c")};
  const std::vector<DependencyCall> failed = {call("/a"), call("/b", false, true)};
  EXPECT_EQ(wrong(statements, failed, all, /*thrown=*/true), "dependency-not-declared-again");
  statements.declared_again = {count("POST /c", 0)};
  EXPECT_EQ(wrong(statements, failed, all, true), "");
  statements.declared_again = {count("POST /c", 1)};
  EXPECT_EQ(wrong(statements, failed, all, true), "assertions-did-not-hold-under-error-response");
  statements.declared_again = {read_only("POST /c")};
  EXPECT_EQ(wrong(statements, failed, all, true), "");
  // Where the service answers with a success, the counts of the test hold as they are.
  statements.declared_again = {};
  EXPECT_EQ(wrong(statements, failed, all, false), "assertions-did-not-hold-under-error-response");
}

TEST(Counts, ACoarseDeclarationStandsForEachKeyOfItsMethod) {
  Statements statements;
  statements.counts = {count("POST /a", 1),
                       count({{"method", "POST"}, {"path", "/c"}, {"fields", {{"/x", 1}}}}, 1)};
  statements.declared_again = {read_only("POST /c")};
  EXPECT_EQ(wrong(statements, {call("/a", false, true)},
                  {call("/a"), call("/c", true, false, {{"x", 1}})}, true),
            "");
}

TEST(Counts, EachStubIsCovered) {
  StubStatement stub{"shop", {}, "test.py:9"};
  stub.stub.method = "POST";
  stub.stub.path = "/a";
  stub.stub.fields = {{"/code", "A"}};
  Statements statements;
  statements.stubs = {stub};
  EXPECT_TRUE(uncovered_stub(statements));
  statements.counts = {count({{"path", "/a"}, {"fields", {{"/code", "B"}}}}, 1)};
  EXPECT_TRUE(uncovered_stub(statements)) << "a key with other arguments";
  statements.counts = {count("POST /a", 1)};
  EXPECT_FALSE(uncovered_stub(statements));
  statements.counts = {count({{"path", "/a"}, {"fields", {{"/code", "A"}}}}, 1)};
  EXPECT_FALSE(uncovered_stub(statements));
  statements.counts = {read_only("POST /a")};
  EXPECT_FALSE(uncovered_stub(statements));
}

}  // namespace
}  // namespace filibuster::principled
