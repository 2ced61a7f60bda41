#include "daemon/retries/origins.h"

#include <gtest/gtest.h>

namespace filibuster::retries {
namespace {

RpcRecord call(uint64_t issued, std::vector<std::string> stack, uint16_t status,
               bool injected = false) {
  RpcRecord out;
  out.issued_ns = issued;
  out.stack_text = std::move(stack);
  out.open = false;
  out.outcome = RpcOutcome::kAnswered;
  out.status = status;
  out.injected = injected;
  return out;
}

suite::Raised raised(std::vector<std::string> frames) {
  suite::Raised out;
  out.type = "sdk.InUse";
  out.frames = std::move(frames);
  return out;
}

const std::string kDescribe = "/app/store.py:4 (open_store)",
                  kCreate = "/app/store.py:6 (open_store)";

TEST(RaisedBy, OfTwoCallsInOneFunctionTheLineTellsWhichOneTheExceptionIsAbout) {
  ExecutionRecord record;
  record.rpcs = {call(1, {kDescribe}, 503, true), call(2, {kCreate}, 400)};
  const auto about = [&](std::vector<std::string> frames) {
    return raised_by(raised(std::move(frames)), record, {});
  };
  EXPECT_EQ(about({"store.py:6 (open_store)", "test_store.py:3 (test_open)"}), &record.rpcs[1]);
  EXPECT_EQ(about({"store.py:4 (open_store)", "test_store.py:3 (test_open)"}), &record.rpcs[0]);
  EXPECT_EQ(about({"other.py:6 (open_store)"}), nullptr);
}

TEST(RaisedBy, WhereverTheFileOfTheLibraryLies) {
  // The library is in the application's folder: its line is on both stacks, and is not that which raises.
  ExecutionRecord record;
  record.rpcs = {call(1, {"/app/sdk.py:7 (call)", kDescribe}, 503, true),
                 call(2, {"/app/sdk.py:7 (call)", kCreate}, 400)};
  EXPECT_EQ(raised_by(raised({"sdk.py:9 (call)", "store.py:6 (open_store)"}), record, {}),
            &record.rpcs[1]);
  EXPECT_EQ(raised_by(raised({"sdk.py:7 (call)", "store.py:4 (open_store)"}), record, {}),
            &record.rpcs[0]);
}

TEST(RaisedBy, OfEqualStacksTheNewestThatFailedCounts) {
  ExecutionRecord record;
  record.rpcs = {call(1, {kDescribe}, 503, true), call(2, {kDescribe}, 404),
                 call(3, {kDescribe}, 200)};
  EXPECT_EQ(raised_by(raised({"store.py:4 (open_store)"}), record, {}), &record.rpcs[1]);
}

TEST(RaisedBy, FramesOfTheTestTellNothing) {
  ExecutionRecord record;
  record.rpcs = {call(1, {kDescribe, "/app/test_store.py:3 (test_open)"}, 503, true)};
  EXPECT_EQ(raised_by(raised({"test_store.py:3 (test_open)"}), record, {}), nullptr);
}

TEST(TestCode, IsWhatRunnersListAndWhatLiesInTheirFolders) {
  CodeOwners owners;
  owners.listed_files = {"test/test.js", "checks/all.js", "packages/cart/__tests__/unit/a.js"};
  EXPECT_TRUE(is_test_frame("/srv/shop/test/test.js:4:2 (put)", owners));
  EXPECT_TRUE(is_test_frame("test/helpers/set-up.js:4 (put)", owners));
  EXPECT_TRUE(is_test_frame("checks/all.js:1 (x)", owners));
  EXPECT_TRUE(is_test_frame("/srv/packages/cart/__tests__/help.js:1", owners));
  EXPECT_FALSE(is_test_frame("checks/store.js:1 (x)", owners))
      << "the folder's name is no tests' folder";
  EXPECT_FALSE(is_test_frame("/srv/shop/lib/store.js:1 (x)", owners));
  EXPECT_FALSE(is_test_frame("/srv/shop/latest/test.js.js:1 (x)", owners));
  EXPECT_FALSE(is_test_frame("/srv/packages/other/__tests__/help.js:1", owners));
  // Who says where test code is, decides.
  owners.test_code = {"checks/"};
  EXPECT_TRUE(is_test_frame("checks/store.js:1 (x)", owners));
  EXPECT_FALSE(is_test_frame("test/test.js:4 (put)", owners));
}

}  // namespace
}  // namespace filibuster::retries
