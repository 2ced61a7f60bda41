#include "cli/analysis/observed.h"

#include <gtest/gtest.h>

namespace filibuster::analysis {
namespace {

using Names = std::vector<std::string>;

TEST(Observed, AReportSaysWhatServicesAnsweredAndWhoAsksWhom) {
  const auto read = read_report("report.json",
                                R"({"version": 1, "tests": [{"test": "t", "counts": {"executed": 9},
    "reference": [{"caller": "test", "service": "users", "grpc": ""},
                  {"caller": "users", "service": "cart", "grpc": "shop.Cart/Get"}],
    "observed": [
      {"service": "users", "method": "GET", "path": "/users/7", "grpc": "", "answer": "status:503",
       "under": [{"service": "movies", "method": "GET", "path": "/movies/1", "what": "timeout", "injected": true},
                 {"service": "cart", "method": "POST", "path": "/shop.Cart/Get", "what": "NOT_FOUND", "injected": false}]},
      {"service": "cart", "method": "POST", "path": "/shop.Cart/Get", "grpc": "shop.Cart/Get", "answer": "grpc:NOT_FOUND", "under": []},
      {"service": "cart", "answer": "refused"}, 3, {"answer": "often"}]}]})");
  ASSERT_TRUE(read.ok()) << read.error().message;
  const Observations& seen = read.value();
  EXPECT_TRUE(seen.explored);
  EXPECT_EQ(seen.speaks_http, std::set<std::string>{"users"});
  EXPECT_EQ(seen.speaks_grpc, std::set<std::string>{"cart"});
  EXPECT_EQ(seen.asks.at("users"), (std::set<std::string>{"cart", "movies"}));
  ASSERT_EQ(seen.answers.at("users").size(), 1u);
  EXPECT_EQ(seen.answers.at("users")[0].text,
            "report.json: GET /users/7 was answered so when movies GET /movies/1 had the fault "
            "timeout, and "
            "cart POST /shop.Cart/Get ended with NOT_FOUND (test 't')");
  ASSERT_EQ(seen.answers.at("cart").size(), 1u);
  EXPECT_EQ(seen.answers.at("cart")[0].answer, (Answer{true, 5}));
  EXPECT_EQ(seen.answers.at("cart")[0].endpoints[0].grpc, "shop.Cart/Get");
}

TEST(Observed, WhatSpeaksRedisSpeaksNoHttpAndItsErrorsAreNoEvidence) {
  const auto read = read_report("report.json", R"({"version": 1, "tests": [{"test": "t",
    "reference": [{"caller": "users", "service": "cache", "protocol": "redis", "grpc": ""}],
    "observed": [{"service": "cache", "method": "GET", "path": "user:*", "protocol": "redis", "grpc": "",
                  "answer": "redis:LOADING", "under": []}]}]})");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(read->speaks_http.empty());
  EXPECT_TRUE(read->answers.empty());
  EXPECT_EQ(read->asks.at("users"), std::set<std::string>{"cache"});
}

TEST(Observed, WhatIsNoReportIsSaid) {
  for (const char* text : {"", "[]", "{\"version\": 1}", "{\"tests\": []}"}) {
    const auto read = read_report("r.json", text);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().message,
              "r.json: not a report; expected the report.json that a run wrote");
  }
  EXPECT_FALSE(read_report("r.json", R"({"version": 2, "tests": []})").ok());
  EXPECT_FALSE(read_report("r.json", R"({"version": 1, "tests": []})")->explored);
}

TEST(Observed, APathBelongsToTheEndpointThatServesIt) {
  const std::vector<Endpoint> endpoints = {
      {"GET", "/users/*", ""}, {"GET", "/users/*/books", ""}, {"POST", "/orders", ""}};
  std::vector<Evidence> evidence = {{{false, 404}, {{"GET", "/users/7/books", ""}}, ""},
                                    {{false, 404}, {{"GET", "/users/7", ""}}, ""},
                                    {{false, 404}, {{"GET", "/orders", ""}}, ""}};
  find_endpoints(endpoints, &evidence);
  EXPECT_EQ(evidence[0].endpoints, std::vector<Endpoint>{endpoints[1]});
  EXPECT_EQ(evidence[1].endpoints, std::vector<Endpoint>{endpoints[0]});
  EXPECT_TRUE(evidence[2].endpoints.empty());
}

TEST(LeavesFirst, EachServiceComesAfterThoseThatItAsks) {
  const LeavesFirst found =
      leaves_first({"users", "bookings", "movies"},
                   {{"users", {"bookings", "movies"}}, {"bookings", {"movies", "mail"}}});
  EXPECT_EQ(found.order, (Names{"movies", "bookings", "users"}));
  EXPECT_TRUE(found.circles.empty());
}

TEST(LeavesFirst, CirclesAreNamed) {
  const LeavesFirst found =
      leaves_first({"a", "b", "c", "d"}, {{"a", {"b"}}, {"b", {"c"}}, {"c", {"b"}}, {"d", {"d"}}});
  EXPECT_EQ(found.order, (Names{"b", "c", "a", "d"}));
  EXPECT_EQ(found.circles, (std::vector<Names>{{"b", "c"}, {"d"}}));
}

}  // namespace
}  // namespace filibuster::analysis
