// The tests' own words, as their runners print them.
#include "daemon/suite/failed_tests.h"

#include <gtest/gtest.h>

#include "daemon/suite/junit_xml.h"

namespace filibuster::suite {
namespace {

// "name | said | place" of each test.
std::vector<std::string> words_of(std::string_view output) {
  std::vector<std::string> out;
  for (const FailedTest& test : own_words(output).failed)
    out.push_back(test.name + " | " + test.said + " | " + test.place);
  return out;
}
using Told = std::vector<std::string>;

constexpr std::string_view kPytest = R"(F...F.                                    [100%]
=================================== FAILURES ===================================
________________________________ test_all_books ________________________________

    def test_all_books():
        r = requests.get(f"{G}/books", timeout=10)
>       assert r.status_code in (200, 503)
E       assert 500 in (200, 503)
E        +  where 500 = <Response [500]>.status_code

test_shop.py:7: AssertionError
___________________________ TestOrders.test_charged ____________________________

>       assert len(charges) <= 1
E       AssertionError: assert 2 <= 1

test_shop.py:28: AssertionError
=========================== short test summary info ============================
FAILED test_shop.py::test_all_books - assert 500 in (200, 503)
FAILED test_shop.py::TestOrders::test_charged - AssertionError: assert 2 <= 1
2 failed, 4 passed in 1.01s
)";

TEST(OwnWords, OfPytestAreItsAssertionsWithTheirValues) {
  EXPECT_EQ(words_of(kPytest),
            (Told{"test_shop.py::test_all_books | assert 500 in (200, 503)\n +  where 500 = "
                  "<Response [500]>.status_code | test_shop.py:7",
                  "test_shop.py::TestOrders::test_charged | AssertionError: assert 2 <= 1 | "
                  "test_shop.py:28"}));
  EXPECT_EQ(own_words(kPytest).failed[1].source, "assert len(charges) <= 1");
}

TEST(OwnWords, OfPytestHaveTheirNamesWhereTheBeginningIsCut) {
  EXPECT_EQ(words_of(kPytest.substr(kPytest.find("        r = requests"))).front(),
            words_of(kPytest).front());
  // Only the summary has been kept.
  EXPECT_EQ(words_of(kPytest.substr(kPytest.find("=========================== short")))[1],
            "test_shop.py::TestOrders::test_charged | AssertionError: assert 2 <= 1 | ");
}

TEST(OwnWords, OfOtherRunnersAreRead) {
  EXPECT_EQ(words_of("=====================================================================\n"
                     "FAIL: test_pay (shop.Orders.test_pay)\n"
                     "---------------------------------------------------------------------\n"
                     "Traceback (most recent call last):\n  File \"shop.py\", line 4, in test_pay\n"
                     "    self.assertEqual(a, 2)\nAssertionError: 1 != 2\n\nRan 1 test\n"),
            Told{"test_pay (shop.Orders.test_pay) | AssertionError: 1 != 2 | shop.py:4"});
  EXPECT_EQ(
      words_of("[ RUN      ] Shop.Opens\n[       OK ] Shop.Opens (0 ms)\n[ RUN      ] Shop.Pays\n"
               "shop_test.cc:12: Failure\nExpected equality of these values:\n  a\n    Which is: "
               "1\n  2\n\n[  FAILED  ] Shop.Pays (0 ms)\n[  FAILED  ] 1 test, listed below:\n"),
      Told{"Shop.Pays | Expected equality of these values:\n  a\n    Which is: 1\n  2 | "
           "shop_test.cc:12"});
  EXPECT_EQ(words_of("--- FAIL: TestPay (0.01s)\n    shop_test.go:12: got 500, want 200\nFAIL\n"
                     "FAIL\tshop\t0.1s\n"),
            Told{"TestPay | got 500, want 200 | shop_test.go:12"});
  EXPECT_EQ(words_of("\u2716 pays (3.2ms)\n  AssertionError [ERR_ASSERTION]: 500 !== 200\n      at "
                     "TestContext.<anonymous> (/srv/shop.test.js:9:10)\n"),
            Told{"pays | AssertionError: 500 !== 200 | /srv/shop.test.js:9"});
  EXPECT_EQ(words_of("TAP version 13\nnot ok 1 - pays\n  AssertionError: 500 !== 200\n"),
            Told{"pays | AssertionError: 500 !== 200 | "});
}

TEST(OwnWords, OfARunnersResultsAreReadWhereItPrintsNothing) {
  const std::vector<suite::JunitCase> cases = {
      {"Shop", "opens", suite::CaseResult::kPassed, "", ""},
      {"Shop", "pays", suite::CaseResult::kFailed, "expected: <200> but was: <500>",
       "org.opentest4j.AssertionFailedError: expected: <200> but was: <500>\n\tat "
       "Shop.pays(Shop.java:7)\n"}};
  EXPECT_EQ(
      words_of(suite::failed_cases_text(cases, "1 test failed")),
      Told{"Shop.pays | org.opentest4j.AssertionFailedError: expected: <200> but was: <500> | "
           "Shop.java:7"});
  EXPECT_EQ(suite::failed_cases_text(cases, "expected: <200> but was: <500>"), "")
      << "it was printed";
}

TEST(OwnWords, OfAProgramAreItsLastExceptionElseItsLastLines) {
  EXPECT_EQ(words_of("starting\nTraceback (most recent call last):\n  File \"ref.py\", line 3, in "
                     "<module>\n    assert x\nAssertionError: expected 4 books, got 3\n"),
            Told{" | AssertionError: expected 4 books, got 3 | ref.py:3"});
  const OwnWords plain = own_words("a\nb\nexpected one of 200\n\ngot 500\n");
  EXPECT_FALSE(plain.recognised);
  EXPECT_EQ(plain.failed.at(0).said, "b\nexpected one of 200\ngot 500");
  EXPECT_TRUE(own_words("").failed.empty());
}

TEST(OwnWords, AreNotThoseOfServices) {
  EXPECT_EQ(
      words_of("got 500\n--- last lines of gateway ---\nTraceback (most recent call last):\n  "
               "File \"g.py\", line 3, in f\nKeyError: 'x'\n"),
      Told{" | got 500 | "});
}

}  // namespace
}  // namespace filibuster::suite
