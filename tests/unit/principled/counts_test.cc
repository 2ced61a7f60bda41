// How often dependencies are called, compared with what is stated (dissertation 11.2.1, 11.2.2).
#include "daemon/principled/counts.h"

#include <gtest/gtest.h>

namespace filibuster::principled {
namespace {

using Json = nlohmann::json;

DependencyCall dependency(const std::string& path, bool reached = true, bool faulted = false,
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

Count counted(const Json& key, uint64_t times) {
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
  statements.counts = {counted("POST /a", 2), counted("POST /b", 0)};
  EXPECT_EQ(wrong(statements, {dependency("/a"), dependency("/a")}), "");
  EXPECT_EQ(wrong(statements, {dependency("/a")}), "stub-count-differs");
  EXPECT_EQ(wrong(statements, {dependency("/a"), dependency("/a"), dependency("/b")}),
            "stub-count-differs");
}

TEST(Counts, FallByTheFaultsThatKeptRequestsAway) {
  Statements statements;
  statements.counts = {counted("POST /a", 3)};
  const auto faulted = dependency("/a", /*reached=*/false, /*faulted=*/true);
  const auto after = dependency("/a", /*reached=*/true, /*faulted=*/true);
  EXPECT_EQ(wrong(statements, {dependency("/a"), dependency("/a"), faulted}), "");
  EXPECT_EQ(wrong(statements, {dependency("/a"), faulted, faulted}), "");
  EXPECT_EQ(wrong(statements, {dependency("/a"), dependency("/a"), after}), "");
  EXPECT_EQ(wrong(statements, {dependency("/a"), faulted}),
            "assertions-did-not-hold-under-error-response");
}

TEST(Counts, OfAKeyWithArgumentsFallByItsOwnFaults) {
  Statements statements;
  statements.counts = {counted({{"path", "/a"}, {"fields", {{"/code", "A"}}}}, 1),
                       counted({{"path", "/a"}, {"fields", {{"/code", "B"}}}}, 1)};
  EXPECT_EQ(wrong(statements, {dependency("/a", false, true, {{"code", "A"}}),
                               dependency("/a", true, false, {{"code", "B"}})}),
            "");
  EXPECT_EQ(wrong(statements, {dependency("/a", false, true, {{"code", "A"}})}),
            "assertions-did-not-hold-under-error-response");
}

TEST(Counts, WhatComesAfterTheFaultIsDeclaredAgainWhereAnErrorIsThrown) {
  Statements statements;
  statements.counts = {counted("POST /a", 1), counted("POST /b", 1), counted("POST /c", 1)};
  const std::vector<DependencyCall> all = {dependency("/a"), dependency("/b"), dependency("/c")};
  const std::vector<DependencyCall> failed = {dependency("/a"), dependency("/b", false, true)};
  EXPECT_EQ(wrong(statements, failed, all, /*thrown=*/true), "dependency-not-declared-again");
  statements.declared_again = {counted("POST /c", 0)};
  EXPECT_EQ(wrong(statements, failed, all, true), "");
  statements.declared_again = {counted("POST /c", 1)};
  EXPECT_EQ(wrong(statements, failed, all, true), "assertions-did-not-hold-under-error-response");
  statements.declared_again = {read_only("POST /c")};
  EXPECT_EQ(wrong(statements, failed, all, true), "");
  // Where the service answers with a success, the counts of the test hold as they are.
  statements.declared_again = {};
  EXPECT_EQ(wrong(statements, failed, all, false), "assertions-did-not-hold-under-error-response");
}

TEST(Counts, ACoarseDeclarationStandsForEachKeyOfItsMethod) {
  Statements statements;
  statements.counts = {counted("POST /a", 1),
                       counted({{"method", "POST"}, {"path", "/c"}, {"fields", {{"/x", 1}}}}, 1)};
  statements.declared_again = {read_only("POST /c")};
  EXPECT_EQ(wrong(statements, {dependency("/a", false, true)},
                  {dependency("/a"), dependency("/c", true, false, {{"x", 1}})}, true),
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
  statements.counts = {counted({{"path", "/a"}, {"fields", {{"/code", "B"}}}}, 1)};
  EXPECT_TRUE(uncovered_stub(statements)) << "a key with other arguments";
  statements.counts = {counted("POST /a", 1)};
  EXPECT_FALSE(uncovered_stub(statements));
  statements.counts = {counted({{"path", "/a"}, {"fields", {{"/code", "A"}}}}, 1)};
  EXPECT_FALSE(uncovered_stub(statements));
  statements.counts = {read_only("POST /a")};
  EXPECT_FALSE(uncovered_stub(statements));
}

}  // namespace
}  // namespace filibuster::principled
