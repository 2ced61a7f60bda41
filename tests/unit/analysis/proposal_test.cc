#include "cli/analysis/proposal.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace filibuster::analysis {
namespace {

using Names = std::vector<std::string>;

// "users GET /x: refused timeout status:404" for each rule.
Names rules(const ServiceFacts& facts) {
  const std::vector<ServiceFacts> all = {facts};
  Names out;
  for (const ServiceProposal& proposal : propose(all)) {
    for (const ProposedRule& rule : proposal.rules) {
      std::string line =
          rule.on.grpc + rule.on.method + (rule.on.path.empty() ? "" : " " + rule.on.path) + ":";
      for (const std::string& fault : rule.inject) line += " " + fault;
      out.push_back(line);
    }
  }
  return out;
}

ServiceFacts http_service() {
  ServiceFacts facts;
  facts.name = "users";
  facts.protocol = Protocol::kHttp;
  facts.looked_at = true;
  return facts;
}

TEST(Proposal, WhatIsSaidOfTheWholeServiceIsOneRule) {
  ServiceFacts facts = http_service();
  facts.endpoints = {{"GET", "/users/*", ""}};
  EXPECT_EQ(rules(facts), Names{": refused timeout"});
  facts.evidence = {{{false, 503}, {}, "a.py:1: x"},
                    {{false, 404}, {{"GET", "/users/*", ""}}, "a.py:2: y"}};
  // The only endpoint gets all there is.
  EXPECT_EQ(rules(facts), Names{": refused timeout status:404 status:503"});
}

TEST(Proposal, AnEndpointWithLessHasItsOwnRuleInFront) {
  ServiceFacts facts = http_service();
  facts.endpoints = {
      {"GET", "/users/*", ""}, {"GET", "/users/*/books", ""}, {"POST", "/orders", ""}};
  facts.evidence = {{{false, 404}, {{"GET", "/users/*", ""}}, "x"},
                    {{false, 409}, {{"POST", "/orders", ""}}, "y"}};
  // /users/*/books would else be taken by the rule for /users/*.
  EXPECT_EQ(rules(facts), (Names{"GET /users/*/books: refused timeout",
                                 "POST /orders: refused timeout status:409",
                                 "GET /users/*: refused timeout status:404",
                                 ": refused timeout status:404 status:409"}));
}

TEST(Proposal, OfBothProtocolsGrpcComesFirst) {
  ServiceFacts facts = http_service();
  facts.protocol = Protocol::kBoth;
  facts.evidence = {{{true, 5}, {{"", "", "shop.Cart/Get"}}, "x"}, {{true, 14}, {}, "y"}};
  facts.endpoints = {{"", "", "shop.Cart/Get"}, {"", "", "shop.Cart/Put"}};
  EXPECT_EQ(rules(facts), (Names{"shop.Cart/Put: grpc:UNAVAILABLE grpc:DEADLINE_EXCEEDED",
                                 "*: grpc:UNAVAILABLE grpc:DEADLINE_EXCEEDED grpc:NOT_FOUND",
                                 ": refused timeout"}));
}

TEST(Proposal, WhereNothingSpeaksItIsTheDefaultSet) {
  ServiceFacts facts;
  facts.name = "mail";
  EXPECT_EQ(rules(facts),
            (Names{"*: grpc:UNAVAILABLE grpc:DEADLINE_EXCEEDED grpc:INTERNAL grpc:UNIMPLEMENTED "
                   "grpc:UNKNOWN",
                   ": refused timeout status:500 status:502 status:503"}));
  facts.protocol = Protocol::kHttp;
  EXPECT_EQ(rules(facts), (Names{": refused timeout status:500 status:502 status:503"}));
}

TEST(Proposal, TheEvidenceOfAFaultIsBounded) {
  ServiceFacts facts = http_service();
  for (int i = 1; i <= 5; ++i)
    facts.evidence.push_back({{false, 404}, {}, "a.py:" + std::to_string(i) + ": x"});
  facts.evidence.push_back({{false, 404}, {}, "a.py:1: x"});
  const std::vector<ServiceFacts> all = {facts};
  EXPECT_EQ(propose(all)[0].rules[0].evidence,
            (Names{"refused, timeout: any service can be down, or silent", "status:404: a.py:1: x",
                   "status:404: a.py:2: x", "status:404: a.py:3: x",
                   "status:404: and in 2 more places"}));
}

TEST(Proposal, TextIsATableForEachService) {
  ServiceFacts users = http_service();
  users.looked_in = {"Flask (users.py:1)", "users.py"};
  users.evidence = {{{false, 404}, {}, "users.py:3: abort(404)"}};
  users.passed_on = {"users.py:9: abort(r.status_code)"};
  users.remarks = {"skipped (not UTF-8 text): x.py"};
  ServiceFacts world = http_service();
  world.name = "world";
  ServiceFacts mail;
  mail.name = "mail";
  const std::vector<ServiceFacts> all = {users, world, mail};
  EXPECT_EQ(to_text(propose(all)), R"(users  (Flask (users.py:1), users.py)
  any request
    inject  refused, timeout, status:404
      refused, timeout: any service can be down, or silent
      status:404: users.py:3: abort(404)
  passes on statuses of services that it asks:
      users.py:9: abort(r.status_code)
  note: skipped (not UTF-8 text): x.py

world
  no status of an error was found: only what can happen to any service is proposed
  any request
    inject  refused, timeout
      refused, timeout: any service can be down, or silent

mail
  no evidence was found: the default set is proposed
)");
}

}  // namespace
}  // namespace filibuster::analysis
