#include "daemon/report/failed_assertions.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace filibuster {
namespace {

// What the runners printed: the seeds of the fuzz target.
std::vector<FailedAssertion> of(const std::string& file) {
  std::ifstream in("tests/fuzz/corpus/failed_assertions/" + file + ".txt");
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_FALSE(text.str().empty()) << file;
  return failed_assertions(text.str());
}

void expect(const FailedAssertion& one, const std::string& test, const std::string& place,
            const std::string& what) {
  EXPECT_EQ(one.test, test);
  EXPECT_EQ(one.place, place);
  EXPECT_EQ(one.what, what);
}

TEST(FailedAssertions, OfPytestHaveTheirTestPlaceAndValues) {
  const auto found = of("pytest");
  ASSERT_EQ(found.size(), 4u);
  expect(found[0], "test_a.py::TestShop::test_in", "test_a.py:3", "assert [1, 2] == [1, 3]");
  expect(found[1], "test_a.py::test_b", "test_a.py:5", "ValueError: x 12");
  expect(found[3], "test_a.py::test_p[2]", "test_a.py:8", "AssertionError: order 12ab34cd is wrong");
}

TEST(FailedAssertions, OfPytestAreKnownWithoutTheHeadingOfTheirSection) {
  const auto found = failed_assertions(
      "E       assert 500 == 200\nE        +  where 500 = <Response [500]>.status_code\n\n"
      "test_shop.py:7: AssertionError\n==== short test summary info ====\n"
      "FAILED test_shop.py::test_all - assert 500 == 200\n1 failed in 1.03s\n");
  ASSERT_EQ(found.size(), 1u);
  expect(found[0], "test_shop.py::test_all", "test_shop.py:7", "assert 500 == 200");
}

TEST(FailedAssertions, OfOtherRunners) {
  const auto unittest = of("unittest");
  ASSERT_EQ(unittest.size(), 2u);
  expect(unittest[0], "test_y (__main__.T.test_y)", "/srv/shop/u.py:4", "RuntimeError: boom");
  expect(unittest[1], "test_x (__main__.T.test_x)", "/srv/shop/u.py:3", "AssertionError: 1 != 2");
  const auto tap = of("nodetest");
  ASSERT_EQ(tap.size(), 1u);
  expect(tap[0], "pays once", "/srv/shop/n.js:2", "Expected values to be strictly equal: 1 !== 2");
  const auto node = of("node");
  ASSERT_EQ(node.size(), 1u);
  expect(node[0], "", "/srv/shop/m.js:1", "AssertionError [ERR_ASSERTION]: charged twice");
  const auto gtest = of("gtest");
  ASSERT_EQ(gtest.size(), 1u);
  expect(gtest[0], "Shop.Pays", "shop_test.cc:12",
         "Expected equality of these values: charges Which is: 2 1");
  const auto go = of("go");
  ASSERT_EQ(go.size(), 1u);
  expect(go[0], "TestPays", "shop_test.go:17", "charged 2 times");
  const auto rust = of("rust");
  ASSERT_EQ(rust.size(), 1u);
  expect(rust[0], "pays_once", "tests/shop.rs:12", "assertion failed: charges == 1");
  const auto java = of("java");
  ASSERT_EQ(java.size(), 1u);
  expect(java[0], "", "ShopTest.java:31", "java.lang.AssertionError: charged 2 times");
}

TEST(FailedAssertions, OfAChainOfExceptionsTheLastOneCounts) {
  const auto found = failed_assertions(
      "Traceback (most recent call last):\n  File \"/usr/lib/python3/dist-packages/a.py\", line 3, in f\n"
      "    g()\nOSError: refused\n\nDuring handling of the above exception, another exception occurred:\n\n"
      "Traceback (most recent call last):\n  File \"/srv/t.py\", line 9, in <module>\n    f()\n"
      "  File \"/usr/lib/python3/dist-packages/a.py\", line 5, in f\n    raise X\nshop.Down: no stock\n");
  ASSERT_EQ(found.size(), 1u);
  expect(found[0], "", "/srv/t.py:9", "shop.Down: no stock");
}

TEST(FailedAssertions, AreNotSeenInOrdinaryOutput) {
  EXPECT_TRUE(failed_assertions("").empty());
  EXPECT_TRUE(failed_assertions("GET /books: 500, expected 200\nat the end: 3 orders\n").empty());
  EXPECT_TRUE(failed_assertions("listening on 127.0.0.1:8080\nok\n").empty());
}

TEST(Masked, LeavesWhatIsTheSameFromRunToRun) {
  EXPECT_EQ(masked("order 42 of c-265b1b31 took 1.03s"), "order # of c-# took #.#s");
  EXPECT_EQ(masked("f779965b-51c6-450f-b740-a5ca15573985"), "#-#c#-#f-b#-#");
  EXPECT_EQ(masked("http2 v10"), "http# v#");
  EXPECT_EQ(masked("facade"), "facade");
}

}  // namespace
}  // namespace filibuster
