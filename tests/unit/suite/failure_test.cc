#include "daemon/suite/failure.h"

#include <gtest/gtest.h>

namespace filibuster::suite {
namespace {

constexpr char kPython[] = R"(Traceback (most recent call last):
  File "/usr/lib/python3/dist-packages/urllib3/connectionpool.py", line 536, in _make_request
    response = conn.getresponse()
TimeoutError: timed out

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/srv/shop/store.py", line 12, in fetch
    answer = requests.get(url, timeout=0.5)
  File "/usr/lib/python3/dist-packages/requests/adapters.py", line 713, in send
    raise ReadTimeout(e, request=request)
requests.exceptions.ReadTimeout: HTTPConnectionPool: Read timed out. (read timeout=0.5)

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/srv/shop/test_shop.py", line 5, in test_pay
    pay()
  File "/srv/shop/shop.py", line 31, in pay
    return cache["price"]
KeyError: 'price'
)";

TEST(Failures, OfPythonHaveTheChainOfExceptionsWithTheirFrames) {
  const Failure failure = read_failure(kPython);
  ASSERT_EQ(failure.chain.size(), 3u);
  EXPECT_EQ(failure.chain[0].type, "KeyError");
  EXPECT_EQ(failure.chain[0].message, "'price'");
  EXPECT_EQ(failure.chain[0].frames,
            (std::vector<std::string>{"/srv/shop/shop.py:31 (pay)",
                                      "/srv/shop/test_shop.py:5 (test_pay)"}));
  EXPECT_EQ(failure.chain[1].type, "requests.exceptions.ReadTimeout");
  EXPECT_EQ(failure.chain[1].link, Link::kContext);
  EXPECT_EQ(failure.chain[2].type, "TimeoutError");
  EXPECT_EQ(failure.chain[2].link, Link::kCause);
  EXPECT_FALSE(failure.assertion);
}

TEST(Failures, OfPytestAreReadFromItsShortForm) {
  const Failure failure = read_failure(R"(    def test_pay():
>       pay()

test_shop.py:5:
_ _ _ _ _
shop.py:31: in pay
    return cache["price"]
E   KeyError: 'price'

shop.py:31: KeyError
)");
  ASSERT_EQ(failure.chain.size(), 1u);
  EXPECT_EQ(failure.chain[0].type, "KeyError");
  EXPECT_EQ(failure.chain[0].frames.back(), "test_shop.py:5 (test_pay)");
  EXPECT_EQ(failure.chain[0].frames.front(), "shop.py:31");
  const Failure assertion = read_failure(R"(>       assert total == 3
E       assert 4 == 3

test_shop.py:7: AssertionError
)");
  EXPECT_TRUE(assertion.assertion);
  EXPECT_EQ(assertion.chain[0].message, "assert 4 == 3");
}

TEST(Failures, OfNodeHaveFramesAndCauses) {
  const Failure failure =
      read_failure(R"(TypeError: Cannot read properties of undefined (reading 'id')
    at pay (/srv/shop/shop.js:12:3)
    at async Context.<anonymous> (/srv/shop/test/shop.test.js:5:1)
    at node:internal/process/task_queues:95:5
Caused by: RestError [ETIMEDOUT]: timeout
    at send (/srv/shop/node_modules/@azure/core/dist/index.js:40:10)
)");
  ASSERT_EQ(failure.chain.size(), 2u);
  EXPECT_EQ(failure.chain[0].type, "TypeError");
  EXPECT_EQ(failure.chain[0].frames[0], "/srv/shop/shop.js:12 (pay)");
  EXPECT_EQ(failure.chain[0].frames[2], "node:internal/process/task_queues:95");
  EXPECT_EQ(failure.chain[1].type, "RestError");
  EXPECT_EQ(failure.chain[1].link, Link::kCause);
}

TEST(Failures, OfNodesAssertionsAreAssertions) {
  const Failure failure =
      read_failure(R"(AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:
    at test (/srv/shop/test/shop.test.js:5:1)
)");
  EXPECT_TRUE(failure.assertion);
}

TEST(Failures, OfJestAreAssertionsWhereTheySayWhatWasExpected) {
  EXPECT_TRUE(read_failure(R"(Error: expect(received).toBe(expected) // Object.is equality

Expected: 1
Received: 2
    at Object.<anonymous> (/srv/shop/shop.test.js:5:1)
)")
                  .assertion);
  EXPECT_FALSE(read_failure("Error: busy\n    at pay (/srv/shop/shop.js:5:1)\n").assertion);
}

TEST(Failures, OfTheJvmHaveTheirCauses) {
  const Failure failure = read_failure(
      "java.lang.IllegalStateException: no price\n"
      "\tat shop.Pay.run(Pay.java:31)\n"
      "\tat shop.PayTest.pays(PayTest.java:12)\n"
      "Caused by: java.net.http.HttpTimeoutException: request timed out\n"
      "\tat java.net.http/jdk.internal.net.http.HttpClientImpl.send(HttpClientImpl.java:572)\n");
  ASSERT_EQ(failure.chain.size(), 2u);
  EXPECT_EQ(failure.chain[0].frames[0], "Pay.java:31 (shop.Pay.run)");
  EXPECT_EQ(short_type(failure.chain[1].type), "HttpTimeoutException");
  EXPECT_TRUE(read_failure("org.opentest4j.AssertionFailedError: expected: <1> but was: <2>\n"
                           "\tat shop.PayTest.pays(PayTest.java:12)\n")
                  .assertion);
}

TEST(Failures, OfGoogleTestAreAssertions) {
  const Failure failure =
      read_failure("shop_test.cc:12: Failure\nExpected equality of these values:\n  1\n  2\n");
  EXPECT_TRUE(failure.assertion);
  EXPECT_TRUE(failure.chain.empty());
}

TEST(Failures, WhatStandsAboveFramesIsAnExceptionWhateverItsName) {
  const Failure failure = read_failure(
      "Please reduce your request rate.\nSlowDown: Please reduce your request rate.\n"
      "    at throwError (/srv/node_modules/s3/index.js:9:1)\n");
  ASSERT_EQ(failure.chain.size(), 1u);
  EXPECT_EQ(failure.chain[0].type, "SlowDown");
  EXPECT_EQ(failure.chain[0].frames.size(), 1u);
}

TEST(Failures, OfNodesOwnRunnerAreWhatItsTestHasThrown) {
  const Failure spread = read_failure(R"([Error [ERR_TEST_FAILURE]: Cannot read properties] {
  code: 'ERR_TEST_FAILURE',
  failureType: 'testCodeFailure',
  cause: TypeError [Error]: Cannot read properties
      at exports.careless (/srv/shop/app.js:26:26)
      at async Test.run (node:internal/test_runner/test:797:9)
})");
  ASSERT_EQ(spread.chain.size(), 1u);
  EXPECT_EQ(spread.chain[0].type, "TypeError");
  EXPECT_EQ(spread.chain[0].frames[0], "/srv/shop/app.js:26 (exports.careless)");

  // What does not fit into a line is quoted.
  const Failure quoted = read_failure(
      R"([Error [ERR_TEST_FAILURE]: it\'s over] { code: 'ERR_TEST_FAILURE', cause: `AxiosError: Request failed with 'status' 503\n    at settle (/srv/shop/node_modules/axios/axios.cjs:2019:12)\n    at async exports.create (/srv/shop/app.js:36:7) {\n  code: 'ERR_BAD_RESPONSE'\n}` })");
  ASSERT_EQ(quoted.chain.size(), 1u);
  EXPECT_EQ(quoted.chain[0].type, "AxiosError");
  EXPECT_EQ(quoted.chain[0].message, "Request failed with 'status' 503");
  EXPECT_EQ(quoted.chain[0].frames[1], "/srv/shop/app.js:36 (exports.create)");

  const Failure assertion =
      read_failure(R"([Error [ERR_TEST_FAILURE]: Expected values to be strictly equal:

1 !== 2
] {
  code: 'ERR_TEST_FAILURE',
  cause: AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:

  1 !== 2

      at TestContext.<anonymous> (/srv/shop/app.test.js:7:46) {
    generatedMessage: true
  }
})");
  EXPECT_TRUE(assertion.assertion);
  EXPECT_EQ(assertion.chain[0].message, "Expected values to be strictly equal: 1 !== 2");
}

TEST(Failures, TheFunctionThatPytestShowsIsThatOfItsFrame) {
  const Failure failure = read_failure(R"(    def pay(order):
        def within():
            return 1
        try:
            ask()
        except OSError as error:
>           raise Gone from error
E           app.Gone

app.py:21: Gone
)");
  ASSERT_EQ(failure.chain.size(), 1u);
  EXPECT_EQ(failure.chain[0].frames, std::vector<std::string>{"app.py:21 (pay)"});
}

TEST(Failures, AnAssertionWithoutWordsHasItsLine) {
  const Failure helper = read_failure(R"(    def test_pay():
>       check(pay())

test_shop.py:4:
_ _ _ _ _ _ _

count = 2

    def check(count):
        # twice is once too often
>       assert count == 1
E       AssertionError

helpers.py:9: AssertionError
)");
  ASSERT_EQ(helper.chain.size(), 1u);
  EXPECT_EQ(helper.chain[0].message, "assert count == 1");
  EXPECT_EQ(helper.chain[0].frames.front(), "helpers.py:9 (check)");
  const Failure brief = read_failure(
      "test_shop.py:4: in test_pay\n    check(pay())\nhelpers.py:9: in check\n"
      "    assert count == 1\nE   AssertionError\n");
  EXPECT_EQ(brief.chain[0].message, "assert count == 1");
  const Failure plain = read_failure(
      "Traceback (most recent call last):\n  File \"/srv/test_shop.py\", line 4, in test_pay\n    check(pay())\n"
      "  File \"/srv/helpers.py\", line 9, in check\n    assert count == 1\n           ^^^^^^^^^^\nAssertionError\n");
  EXPECT_EQ(plain.chain[0].message, "assert count == 1");
  const Failure said = read_failure(
      "test_shop.py:4: in test_pay\n    assert pay() == 1, 'twice'\nE   AssertionError: twice\n");
  EXPECT_EQ(said.chain[0].message, "twice");
}

TEST(Failures, ExceptionsOfCppSayOnlyWhatTheyAreAbout) {
  const Failure failure = read_failure(
      "unknown file\nC++ exception with description \"answer 503\" thrown in the test body.\n");
  ASSERT_EQ(failure.chain.size(), 1u);
  EXPECT_EQ(failure.chain[0].message, "answer 503");
  EXPECT_FALSE(failure.assertion);
}

TEST(Failures, WhatIsNotRecognisedStaysText) {
  for (const char* text : {"", "it does not work", "1 test failed: pay\n", "at\n\n\nE"}) {
    const Failure failure = read_failure(text);
    EXPECT_TRUE(failure.chain.empty()) << text;
    EXPECT_FALSE(failure.assertion) << text;
  }
}

TEST(Failures, TheKeyOfAnAssertionLeavesOutWhatVaries) {
  const auto key = [](const std::string& said) {
    return assertion_key(
        read_failure("Traceback (most recent call last):\n  File \"t.py\", line 3, in t\n"
                     "AssertionError: " +
                     said + "\n"));
  };
  EXPECT_EQ(key("4 != 3"), "4 != 3 at t.py:3 (t)");
  EXPECT_EQ(key("<Shop at 0x7f00aa> on port 45123"), key("<Shop at 0x7f11bb> on port 39999"));
  EXPECT_NE(key("4 != 3"), key("5 != 3"));
}

}  // namespace
}  // namespace filibuster::suite
