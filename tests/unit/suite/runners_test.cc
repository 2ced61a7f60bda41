#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "daemon/suite/results.h"
#include "daemon/suite/runner.h"
#include "tests/unit/temporary_folder.h"

namespace filibuster::suite {
namespace {

std::vector<std::string> names_of(std::string_view runner, const std::string& text) {
  std::vector<std::string> out;
  const auto tests = find_runner(runner)->parse(text, "/srv/shop");
  if (!tests) return {"error: " + tests.error().message};
  for (const SuiteTest& test : tests.value()) out.push_back(test.name);
  return out;
}

using Names = std::vector<std::string>;

TEST(Runners, Pytest) {
  EXPECT_EQ(
      names_of(
          "pytest",
          "tests/test_a.py::test_one\ntests/test_a.py::Group::test_two[x y]\n\n2 tests collected in 0.01s\n"),
      (Names{"tests/test_a.py::test_one", "tests/test_a.py::Group::test_two[x y]"}));
  EXPECT_EQ(
      names_of(
          "pytest",
          "tests/test_a.py::test_one\n\n======= warnings summary ======\ntests/test_a.py::test_other\n"),
      (Names{"tests/test_a.py::test_one"}));
  EXPECT_TRUE(names_of("pytest", "tests/test_a.py: 2\n\n")[0].starts_with(
      "error: pytest prints how many tests"));
  EXPECT_EQ(names_of("pytest", "\nno tests collected in 0.00s\n"), Names{});
}

TEST(Runners, Unittest) {
  EXPECT_EQ(names_of("unittest", "something that the module prints\ntest: test_a.Group.test_one\n"),
            (Names{"test_a.Group.test_one"}));
  EXPECT_EQ(names_of("unittest", "test: unittest.loader._FailedTest.test_b\n"),
            (Names{"error: the module 'test_b' cannot be imported"}));
}

TEST(Runners, Gtest) {
  EXPECT_EQ(
      names_of(
          "gtest",
          "Running main() from gtest_main.cc\nShop.\n  Asks\n  DISABLED_Waits\nSizes/Cart.\n  Holds/0  # GetParam() = 1\n"
          "Typed/0.  # TypeParam = int\n  Works\n"),
      (Names{"Shop.Asks", "Sizes/Cart.Holds/0", "Typed/0.Works"}));
}

TEST(Runners, Junit) {
  EXPECT_EQ(names_of("junit",
                     "Note: a.java uses unchecked operations.\ntest: shop.ShopTest#pays()\n"
                     "test: shop.ShopTest$Inner#holds(int, java.lang.String)\n"),
            (Names{"shop.ShopTest#pays()", "shop.ShopTest$Inner#holds(int, java.lang.String)"}));
  const Suite suite{"junit", "java -cp 'a b'", "my classes"};
  const Runner* junit = find_runner("junit");
  EXPECT_TRUE(
      junit->list(suite, "/tmp/x y")
          .ends_with("> '/tmp/x y.java' && exec java -cp 'a b' '/tmp/x y.java' 'my classes'"));
  const std::string each = junit->each(suite, {"", "", "shop.A$B#t()"}, "/tmp/x y");
  EXPECT_NE(each.find("--select-method 'shop.A$B#t()'; code=$?;"), each.npos) << each;
}

TEST(Runners, JestAndMocha) {
  EXPECT_EQ(
      names_of(
          "jest",
          R"-({"testResults": [{"name": "/srv/shop/a.test.js", "assertionResults": [{"fullName": "cart adds (twice)"}]}]})-"),
      (Names{"a.test.js > cart adds (twice)"}));
  EXPECT_EQ(
      names_of(
          "jest",
          R"({"testResults": [{"name": "/srv/shop/a.test.js", "assertionResults": [], "message": "no such module"}]})"),
      (Names{"error: a.test.js: no such module"}));
  EXPECT_EQ(names_of("mocha",
                     R"({"tests": [{"file": "/srv/shop/test/a.js", "fullTitle": "cart adds"}]})"),
            (Names{"test/a.js > cart adds"}));
  for (const char* broken : {"", "[]", "{}", R"({"tests": 1, "testResults": {}})"}) {
    EXPECT_EQ(names_of("jest", broken), (Names{"error: it wrote no list of tests"})) << broken;
    EXPECT_EQ(names_of("mocha", broken), (Names{"error: it wrote no list of tests"})) << broken;
  }
}

TEST(Runners, WhatNpxWouldLookForIsTakenFromWhereItIs) {
  const TemporaryFolder folder;
  const std::string outer = folder.path() + "/node_modules/.bin",
                    inner = folder.path() + "/packages/shop";
  std::filesystem::create_directories(outer);
  std::filesystem::create_directories(inner);
  std::ofstream(outer + "/mocha") << "#!/bin/sh\n";
  const auto program = [&](const char* runner, const std::string& given, const std::string& at) {
    return installed_program(*find_runner(runner), {runner, given, ""}, at);
  };
  EXPECT_EQ(program("mocha", "", folder.path()), "node_modules/.bin/mocha");
  EXPECT_EQ(program("mocha", "", inner), "../../node_modules/.bin/mocha");
  EXPECT_EQ(program("mocha", "npx mocha --exit", inner), "../../node_modules/.bin/mocha --exit");
  EXPECT_EQ(program("mocha", "npx --yes mocha", inner), "npx --yes mocha")
      << "it has options of its own";
  EXPECT_EQ(program("mocha", "npx mocha@9", inner), "npx mocha@9");
  EXPECT_EQ(program("mocha", "node mocha.js", inner), "node mocha.js");
  EXPECT_EQ(program("jest", "", inner), "") << "it is not installed";
  EXPECT_EQ(program("pytest", "", inner), "");
}

TEST(Runners, ShortNamesHaveNoFileAndNoClass) {
  EXPECT_EQ(short_name("test/blob.test.js > blob > uploads twice"), "blob > uploads twice");
  EXPECT_EQ(short_name("tests/test_a.py::Group::test_two[x::y > z#1]"), "test_two[x::y > z#1]");
  EXPECT_EQ(short_name("shop.PayTest#pays(int)"), "pays(int)");
  EXPECT_EQ(short_name("Shop.Asks"), "Shop.Asks");
}

TEST(Runners, WhatTheShellReadsIsQuoted) {
  const Suite suite{"pytest", "python3 -m pytest", "my tests"};
  const Runner* pytest = find_runner("pytest");
  EXPECT_NE(pytest->list(suite, "").find(" 'my tests'"), std::string::npos);
  const std::string each = pytest->each(suite, {"", "", "a.py::t['; rm -rf /']"}, "/tmp/x y");
  EXPECT_TRUE(each.ends_with("--junitxml='/tmp/x y' 'a.py::t['\\''; rm -rf /'\\'']'")) << each;
  EXPECT_EQ(exact_pattern("adds (twice) a|b"), "^adds \\(twice\\) a\\|b$");
}

std::string told(std::string_view xml) {
  const auto cases = parse_junit(xml);
  if (!cases) return "error";
  std::string out;
  for (const JunitCase& one : cases.value())
    out += one.group + "." + one.name + " " + "PFS"[static_cast<int>(one.result)] + " " +
           one.message + "|" + one.stack + "\n";
  return out;
}

TEST(JunitXml, WhatRunnersWrite) {
  // pytest
  EXPECT_EQ(
      told(
          R"(<?xml version="1.0"?><testsuites><testsuite name="pytest" tests="3"><testcase classname="test_a" name="one" time="0"/>
    <testcase classname="test_a" name="two"><failure message="assert 1 == 2">def two():
&gt; assert</failure></testcase><testcase classname="test_a" name="three"><skipped type="pytest.skip" message="no net">x</skipped></testcase></testsuite></testsuites>)"),
      "test_a.one P |\ntest_a.two F assert 1 == 2|def two():\n> assert\ntest_a.three S no net|x\n");
  // mocha's xunit; GoogleTest
  EXPECT_EQ(
      told(
          R"(<testsuite name="Mocha Tests"><testcase classname="cart" name="adds"><failure>AssertionError</failure></testcase></testsuite>)"),
      "cart.adds F |AssertionError\n");
  EXPECT_EQ(
      told(
          R"(<testsuites><testsuite><testcase name="Asks" status="notrun" classname="Shop"/></testsuite></testsuites>)"),
      "Shop.Asks S |\n");
  // JUnit's console launcher: a file for each engine, put together.
  EXPECT_EQ(
      told(
          "<testsuites>\n<testsuite name=\"JUnit Jupiter\"><properties/><testcase name=\"later()\" "
          "classname=\"shop.ShopTest\"><skipped><![CDATA[no net\nmore]]></skipped></testcase></testsuite>\n"
          "<testsuite name=\"JUnit Vintage\"/>\n</testsuites>"),
      "shop.ShopTest.later() S no net|no net\nmore\n");
  // Suites within suites (Node).
  EXPECT_EQ(
      told(
          R"(<testsuites><testsuite name="a"><testsuite name="b"><testcase name="c" classname="test"><error message="m"/></testcase></testsuite></testsuite></testsuites>)"),
      "test.c F m|\n");
  // A failure, and one more when it ends.
  EXPECT_EQ(
      told(
          R"(<testsuite><testcase name="c"><failure message="first"/><error message="second"/></testcase></testsuite>)"),
      ".c F first|\n");
}

TEST(Results, OfJestAreItsJson) {
  const auto cases = parse_results(R"({"success": false, "testResults": [
    {"name": "/srv/a.test.js", "status": "failed", "assertionResults": [
      {"fullName": "shop pays", "status": "failed", "failureMessages": ["Error: \u001b[2mexpect(\u001b[22mtotal)\n    at /srv/a.test.js:3:1", "second"]},
      {"fullName": "shop lists", "status": "passed", "failureMessages": []},
      {"fullName": "shop waits", "status": "pending", "failureMessages": []}]},
    {"name": "/srv/b.test.js", "status": "failed", "message": "Cannot find module 'x'", "assertionResults": []}]})");
  ASSERT_TRUE(cases.ok()) << cases.error().message;
  ASSERT_EQ(cases->size(), 4u);
  EXPECT_EQ(cases.value()[0].result, CaseResult::kFailed);
  EXPECT_EQ(cases.value()[0].message, "Error: expect(total)");
  EXPECT_EQ(cases.value()[0].stack, "Error: expect(total)\n    at /srv/a.test.js:3:1");
  EXPECT_EQ(cases.value()[1].result, CaseResult::kPassed);
  EXPECT_EQ(cases.value()[2].result, CaseResult::kSkipped);
  EXPECT_EQ(cases.value()[3].name, "/srv/b.test.js");
  EXPECT_EQ(cases.value()[3].message, "Cannot find module 'x'");
  for (const char* const broken : {"{", "{}", "{\"testResults\": 1, \"a\": ", "", "x"})
    EXPECT_FALSE(parse_results(broken).ok()) << broken;
  EXPECT_TRUE(
      parse_results(R"({"testResults": [1, {"assertionResults": [2, {"status": 3}]}]})").ok());
  EXPECT_EQ(parse_results("<testsuite><testcase name='t'/></testsuite>")->size(), 1u);
}

TEST(JunitXml, WhatIsNone) {
  for (const char* broken :
       {"", "text", "<html/>", "<testsuite>", "<testsuites><testsuite></testsuites>"})
    EXPECT_EQ(told(broken), "error") << broken;
  EXPECT_EQ(told("<testsuites/>"), "");
  std::string deep = "<testsuites>";
  for (int i = 0; i < 100000; ++i) deep += "<testsuite>";
  EXPECT_EQ(told(deep), "error");
}

}  // namespace
}  // namespace filibuster::suite
