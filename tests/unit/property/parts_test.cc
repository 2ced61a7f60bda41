// A history of several keys, of which one takes the search long.
#include <gtest/gtest.h>

#include "daemon/property/linearisability.h"

namespace filibuster::property {
namespace {

void append_to(History* history, const std::string& key, const std::string& f, nlohmann::json value,
               int64_t call, int64_t end) {
  Call out;
  out.process = std::to_string(history->calls.size());
  out.f = f;
  out.key = key;
  out.has_key = true;
  out.outcome = Outcome::kOk;
  (f == "get" ? out.answered : out.asked) = std::move(value);
  out.call = call;
  out.end = end;
  history->calls.push_back(std::move(out));
}

// All orders of thirty texts that are put together at once, which nobody lives to see.
History long_and_wrong() {
  History history;
  for (int i = 0; i < 30; ++i) append_to(&history, "long", "append", std::to_string(i) + " ", 0, 9);
  append_to(&history, "long", "get", "never", 10, 11);
  append_to(&history, "wrong", "put", "a", 0, 9);
  append_to(&history, "wrong", "get", "b", 10, 11);
  return history;
}

TEST(Parts, OneThatIsSoonRefutedDoesNotWaitForALongOne) {
  const History history = long_and_wrong();
  CheckOptions options;
  const auto checked = check_history(
      history, [] { return make_object("kv", {}); }, options);
  ASSERT_TRUE(checked);
  EXPECT_EQ(checked->verdict, linear::Verdict::kNot);
  ASSERT_EQ(checked->parts.size(), 1u);
  EXPECT_EQ(checked->parts[0].key, "wrong");
  EXPECT_EQ(checked->not_begun, 1u);
}

TEST(Parts, TheBoundOfMemoryCountsStates) {
  History history = long_and_wrong();
  history.calls.resize(31);
  CheckOptions options;
  options.bytes = size_t{64} << 20;
  const auto checked = check_history(
      history, [] { return make_object("kv", {}); }, options);
  ASSERT_TRUE(checked);
  EXPECT_EQ(checked->verdict, linear::Verdict::kUnknown);
  EXPECT_EQ(checked->why, "the bound of memory was reached");
  // A set of calls takes some 40 bytes, and the text behind it as much as it is long.
  EXPECT_LT(checked->visited, options.bytes / 200);
}

}  // namespace
}  // namespace filibuster::property
