#include "daemon/explore/suspects.h"

#include <gtest/gtest.h>

#include "daemon/model/finding.h"
#include "daemon/model/session_report.h"
#include "daemon/report/json.h"

namespace filibuster {
namespace {

InjectedFault suspect_call(uint64_t identity, const std::string& fault, const std::string& frame) {
  InjectedFault out;
  out.stable.identity = Hash128{1, identity};
  out.fault = fault;
  out.stack = {"/usr/lib/http.py:3 (send)", frame};
  return out;
}

TEST(Suspects, AreTheFaultsOfEarlierFindings) {
  const InjectedFault was = suspect_call(7, "timeout", "/srv/users.py:31 (get)");
  SessionReport report;
  report.tests.emplace_back();
  Finding finding;
  finding.minimal = {was};
  report.tests[0].findings = {finding};
  Suspects suspects;
  EXPECT_TRUE(suspects.empty());
  ASSERT_TRUE(suspects.add_report(to_json(report)).ok());
  EXPECT_TRUE(suspects.are_met_by(suspect_call(7, "timeout", "/elsewhere/users.py:40 (get)")))
      << "it has moved";
  EXPECT_FALSE(suspects.are_met_by(suspect_call(7, "refused", "")));
  EXPECT_FALSE(suspects.are_met_by(suspect_call(8, "timeout", "")));
}

TEST(Suspects, AreTheCallsThatChangedFilesMake) {
  Suspects suspects;
  suspects.add_file("./shop/users.py");
  suspects.add_file("/srv/lib/libshop.so");
  suspects.add_file("");
  for (const char* frame : {"/srv/shop/users.py:31 (get)", "shop/users.py:2", "users.py:2 (f)",
                            "libshop.so+0x12 (f())", "file:///srv/shop/users.py:7 (x)"}) {
    EXPECT_TRUE(suspects.are_met_by(suspect_call(1, "refused", frame))) << frame;
  }
  for (const char* frame :
       {"/srv/shop/all_users.py:31 (get)", "/srv/other/users.py:31 (get)", "", "shop/users.pyc:2"})
    EXPECT_FALSE(suspects.are_met_by(suspect_call(1, "refused", frame))) << frame;
}

TEST(Suspects, AreTheSameForASearchThatGoesOn) {
  Suspects suspects;
  suspects.add_file("shop/users.py");
  ASSERT_TRUE(suspects
                  .add_report(R"({"version": 1, "tests": [{"findings": [{"faults":
                      [{"identity": "00000000000000010000000000000007", "fault": "timeout"}]}]}]})")
                  .ok());
  const Suspects later = Suspects::of_text(suspects.to_text());
  EXPECT_TRUE(later.are_met_by(suspect_call(1, "refused", "shop/users.py:2 (f)")));
  EXPECT_TRUE(later.are_met_by(suspect_call(7, "timeout", "")));
  EXPECT_FALSE(later.are_met_by(suspect_call(7, "refused", "")));
  for (const char* text : {"", "[]", R"({"faults": [3, ["a"]], "files": [4]})"})
    EXPECT_TRUE(Suspects::of_text(text).empty()) << text;
}

TEST(Suspects, TakeNothingFromWhatIsNoReport) {
  Suspects suspects;
  for (const char* text :
       {"", "[]", "{}", "{\"version\": 2, \"tests\": []}", "{\"version\": 1, \"tests\": 3}"})
    EXPECT_FALSE(suspects.add_report(text).ok()) << text;
  EXPECT_TRUE(
      suspects.add_report(R"({"version": 1, "tests": [3, {"findings": [4, {"faults": [5, {}]}]}]})")
          .ok());
  EXPECT_TRUE(suspects.empty());
}

TEST(Suspects, ComeFirst) {
  const bool all[] = {true, true}, some[] = {true, false}, none[] = {false, false};
  EXPECT_LT(Suspects::rank(all), Suspects::rank(some));
  EXPECT_LT(Suspects::rank(some), Suspects::rank(none));
  EXPECT_EQ(Suspects::rank(std::span(some).first(1)), Suspects::rank(all));
  EXPECT_EQ(Suspects::rank(std::span(some).last(1)), Suspects::rank(none));
}

}  // namespace
}  // namespace filibuster
