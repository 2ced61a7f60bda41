#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/lint/recipe.h"

namespace filibuster::lint {
namespace {

using Json = nlohmann::json;

Report report() {
  Report out;
  out.session = "00c0ffee";
  out.config_path = "shop.json";
  out.directory = "/app";
  out.exit_code = 1;
  TestLint test;
  test.test = "checkout";
  test.finished = true;
  test.rpcs = 3;
  test.executions = 4;
  test.seconds = 1.25;
  Finding finding;
  finding.lint = Lint::kNoTimeout;
  finding.severity = Severity::kError;
  finding.text = "users waits without end for GET /x?token=s3cret";
  finding.calls = {
      {"users", "bookings", "GET", "/x?token=s3cret", {"/app/src/a b.py:31 (get)"}, {1, 2}},
      {"users", "bookings", "GET", "/y", {"/lib/http.py:7 (send)"}, {1, 3}},
      {"users", "bookings", "GET", "/z", {}, {1, 4}}};
  finding.replay = ".filibuster/lint/1.json";
  test.findings = {finding};
  CallSite site;
  site.first = finding.calls[0];
  site.rpcs = 2;
  site.timeout = "none";
  site.retries = 0;
  test.sites = {site};
  test.not_probed = {{finding.calls[2], "timeout", "its cause is not known"}};
  out.tests = {test};
  return out;
}

TEST(LintOutputTest, NamesAGrpcCallByItsMethod) {
  Report shown = report();
  for (Call& call : shown.tests[0].findings[0].calls) {
    call.protocol = Protocol::kGrpc;
    call.method = "POST";
    call.target = "/shop.CartService/GetCart";
  }
  shown.tests[0].not_probed[0].call = shown.tests[0].findings[0].calls[2];
  EXPECT_NE(to_text(shown).find("users -> bookings  shop.CartService/GetCart\n"), std::string::npos)
      << to_text(shown);
  const Json test = Json::parse(to_json(shown))["tests"][0];
  EXPECT_EQ(test["findings"][0]["rpcs"][0]["grpc"], "shop.CartService/GetCart");
  EXPECT_EQ(test["call_sites"][0]["grpc"], "");
  EXPECT_EQ(test["not_probed"][0]["grpc"], "shop.CartService/GetCart");
  const Json run = Json::parse(to_sarif(shown))["runs"][0];
  EXPECT_EQ(run["results"][0]["relatedLocations"][0]["message"]["text"],
            "users -> bookings shop.CartService/GetCart");
  EXPECT_EQ(to_sarif(shown).find("POST"), std::string::npos);
}

TEST(LintJsonTest, HasItsVersionAndEveryFindingWithItsPlaces) {
  const Json json = Json::parse(to_json(report()));
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["exit_code"], 1);
  EXPECT_EQ(json["lints"].size(), lints().size());
  const Json& test = json["tests"][0];
  EXPECT_EQ(test["probes"], 4);
  const Json& finding = test["findings"][0];
  EXPECT_EQ(finding["lint"], "no-timeout");
  EXPECT_EQ(finding["severity"], "error");
  EXPECT_EQ(finding["rpcs"][0]["line"], 31);
  EXPECT_EQ(finding["rpcs"][2]["file"], "");
  EXPECT_EQ(test["call_sites"][0]["timeout"], "none");
  EXPECT_EQ(test["not_probed"][0]["reason"], "its cause is not known");
}

TEST(LintOutputTest, CredentialsStandInNone) {
  for (const std::string& text : {to_json(report()), to_sarif(report()), to_text(report())}) {
    EXPECT_EQ(text.find("s3cret"), std::string::npos) << text;
    EXPECT_NE(text.find("[redacted]"), std::string::npos) << text;
  }
}

TEST(SarifTest, AKnownSiteIsAPhysicalLocationBelowTheConfigurationsFolder) {
  const Json run = Json::parse(to_sarif(report()))["runs"][0];
  EXPECT_EQ(run["originalUriBaseIds"]["SRCROOT"]["uri"], "file:///app/");
  const Json& result = run["results"][0];
  EXPECT_EQ(result["ruleId"], "no-timeout");
  EXPECT_EQ(run["tool"]["driver"]["rules"][result["ruleIndex"].get<size_t>()]["id"], "no-timeout");
  EXPECT_EQ(result["level"], "error");
  const Json& place = result["locations"][0]["physicalLocation"];
  EXPECT_EQ(place["artifactLocation"]["uri"], "src/a%20b.py");
  EXPECT_EQ(place["artifactLocation"]["uriBaseId"], "SRCROOT");
  EXPECT_EQ(place["region"]["startLine"], 31);
  EXPECT_EQ(result["relatedLocations"][0]["physicalLocation"]["artifactLocation"]["uri"],
            "file:///lib/http.py");
}

TEST(SarifTest, AnUnknownSiteIsALogicalLocationOfItsService) {
  const Json result = Json::parse(to_sarif(report()))["runs"][0]["results"][0];
  const Json& place = result["relatedLocations"][1];
  EXPECT_FALSE(place.contains("physicalLocation"));
  EXPECT_EQ(place["logicalLocations"][0]["name"], "users");
}

TEST(SarifTest, AFileThatACompilerNamedRelativelyIsRelativeToNothingKnown) {
  Report relative = report();
  relative.tests[0].findings[0].calls[0].stack = {"src/gateway.cc:16 (fetch)"};
  const Json result = Json::parse(to_sarif(relative))["runs"][0]["results"][0];
  EXPECT_EQ(result["locations"][0]["physicalLocation"]["artifactLocation"],
            Json({{"uri", "src/gateway.cc"}}));
}

TEST(SarifTest, TheFingerprintOutlivesAMovedLine) {
  const auto fingerprint = [](const Report& of) {
    return Json::parse(to_sarif(of))["runs"][0]["results"][0]["partialFingerprints"];
  };
  Report moved = report(), other = report();
  moved.tests[0].findings[0].calls[0].stack = {"/app/src/a b.py:99 (get)"};
  other.tests[0].findings[0].calls[0].stack = {"/app/src/a b.py:31 (put)"};
  EXPECT_EQ(fingerprint(report()), fingerprint(moved));
  EXPECT_NE(fingerprint(report()), fingerprint(other));
}

TEST(LintTextTest, ShowsTheFindingItsSiteAndHowToLookAtIt) {
  const std::string text = to_text(report());
  for (const char* part : {"error  no-timeout", "/app/src/a b.py:31 (get)", "(call site not known)",
                           "run it again: filibuster replay .filibuster/lint/1.json", "4 probes",
                           "no timeout", "not probed (timeout): its cause is not known"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(LintTextTest, ShowsWhoCalledTheHelperAndCutsNamesThatFillAScreen) {
  Report deep = report();
  deep.tests[0].findings[0].calls[0].stack = {"a.cc:1 (get)",
                                              "b.cc:2 (" + std::string(500, 'x') + ")"};
  const std::string text = to_text(deep);
  EXPECT_NE(text.find("a.cc:1 (get), from b.cc:2 (xxx"), std::string::npos) << text;
  EXPECT_EQ(text.find(std::string(200, 'x')), std::string::npos) << text;
}

TEST(LintTextTest, CountsOnlyTheSitesThatTheTestItselfReaches) {
  Report fallback = report();
  fallback.tests[0].sites.push_back(fallback.tests[0].sites[0]);
  fallback.tests[0].sites[1].rpcs = 0;
  const std::string text = to_text(fallback);
  EXPECT_NE(text.find("from 1 call site,"), std::string::npos) << text;
  EXPECT_NE(text.find("only under faults"), std::string::npos) << text;
}

TEST(LintTextTest, SaysThatNothingWasFound) {
  Report empty = report();
  empty.tests[0].findings.clear();
  EXPECT_NE(to_text(empty).find("nothing found"), std::string::npos);
}

TEST(LintTableTest, RowsStandAtTheirNumberAndAreFoundByName) {
  for (size_t i = 0; i < lints().size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(lints()[i].lint), i);
    EXPECT_EQ(find_lint(lints()[i].name), &lints()[i]);
  }
  EXPECT_EQ(find_lint("no-such"), nullptr);
  EXPECT_EQ(parse_severity("warning"), Severity::kWarning);
  EXPECT_FALSE(parse_severity("fatal"));
}

}  // namespace
}  // namespace filibuster::lint
