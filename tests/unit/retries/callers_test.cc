#include "daemon/retries/callers.h"

#include <gtest/gtest.h>

#include "recipe.h"

namespace filibuster::retries {
namespace {

const std::string kSet = "store.py:20 (set)", kAdd = "store.py:24 (add)",
                  kHelper = "store.py:12 (_set)", kMain = "jobs.py:3 (run)";

TEST(Callers, OfAHelperAreCallSitesOfTheirOwnIfTheirCallsDiffer) {
  Callers callers;
  callers.add({kHelper, kSet}, "PUT /set");
  callers.add({kHelper, kAdd}, "PUT /add");
  EXPECT_EQ(callers.site_of({kHelper, kSet}), kSet + " via " + kHelper);
  EXPECT_EQ(callers.site_of({kHelper, kAdd}), kAdd + " via " + kHelper);
}

TEST(Callers, AreOneCallSiteIfTheyAskForTheSame) {
  Callers callers;
  callers.add({kHelper, kSet}, "PUT /set");
  callers.add({kHelper, kAdd}, "PUT /set");
  EXPECT_EQ(callers.site_of({kHelper, kSet}), kHelper);
  EXPECT_EQ(callers.site_of({kHelper, kAdd}), kHelper);
}

TEST(Callers, OneThatAsksForSeveralThingsIsOneCallSite) {
  Callers callers;
  callers.add({kHelper, kSet}, "PUT /a");
  callers.add({kHelper, kSet}, "PUT /b");
  EXPECT_EQ(callers.site_of({kHelper, kSet}), kHelper);
}

TEST(Callers, AreLookedForOutwardsWhereThereIsOneOnly) {
  const std::string send = "http.py:5 (send)";
  Callers callers;
  callers.add({send, kHelper, kSet, kMain}, "PUT /set");
  callers.add({send, kHelper, kAdd, kMain}, "PUT /add");
  EXPECT_EQ(callers.site_of({send, kHelper, kSet, kMain}), kSet + " via " + send);
  // The test itself calls the helper: the application has no frame further out.
  callers.add({send, kHelper}, "PUT /own");
  EXPECT_EQ(callers.site_of({send, kHelper}), send);
}

TEST(Callers, AreToldApartAtEachFrameWhereTheyDiffer) {
  const std::string put = "http.py:5 (put)", get = "http.py:9 (get)",
                    request = "http.py:1 (request)";
  Callers callers;
  callers.add({request, put, kSet}, "PUT /set");
  callers.add({request, put, kAdd}, "PUT /add");
  callers.add({request, get, kMain}, "GET /jobs");
  EXPECT_EQ(callers.site_of({request, put, kSet}), kSet + " via " + put + " via " + request);
  EXPECT_EQ(callers.site_of({request, get, kMain}), get + " via " + request);
}

TEST(Callers, ThatAreNotKnownLeaveTheInnermostFrame) {
  Callers callers;
  EXPECT_EQ(callers.site_of({kHelper, kSet}), kHelper);
  EXPECT_EQ(callers.site_of({}), "");
  callers.add({"store.js:3 (async set)"}, "PUT /set");
  EXPECT_EQ(callers.site_of({"store.js:3 (async set)"}), "store.js:3 (set)");
}

RpcRecord with_fields(RpcRecord out, std::vector<std::pair<std::string, uint64_t>> leaves) {
  out.request_fields.known = true;
  out.request_fields.leaves = std::move(leaves);
  return out;
}

TEST(KindOf, IsWhatACallAsksForAndNotWithWhichValues) {
  EXPECT_NE(kind_of(rpc("PUT", "/a")), kind_of(rpc("PUT", "/b")));
  EXPECT_NE(kind_of(rpc("PUT", "/a")), kind_of(rpc("DELETE", "/a")));
  EXPECT_EQ(kind_of(rpc("GET", "/a?page=1")), kind_of(rpc("GET", "/a?page=2")));
  EXPECT_NE(kind_of(rpc("GET", "/a?page=1")), kind_of(rpc("GET", "/a?uploads")));
  EXPECT_EQ(kind_of(with_fields(rpc("POST", "/"), {{"/Item/id", 1}, {"/TableName", 2}})),
            kind_of(with_fields(rpc("POST", "/"), {{"/Item/name", 5}, {"/TableName", 6}})));
  EXPECT_NE(kind_of(with_fields(rpc("POST", "/"), {{"/Item/id", 1}, {"/TableName", 2}})),
            kind_of(with_fields(rpc("POST", "/"), {{"/Key/id", 1}, {"/TableName", 2}})));
}

TEST(KindOf, HasTheValueThatNamesAnOperation) {
  EXPECT_NE(kind_of(rpc("PUT", "/b?comp=block&id=1")), kind_of(rpc("PUT", "/b?comp=page&id=1")));
  EXPECT_NE(kind_of(with_fields(rpc("POST", "/"), {{"Action", 1}, {"Queue", 3}})),
            kind_of(with_fields(rpc("POST", "/"), {{"Action", 2}, {"Queue", 3}})));
  EXPECT_EQ(kind_of(with_fields(rpc("POST", "/"), {{"Action", 1}, {"Queue", 3}})),
            kind_of(with_fields(rpc("POST", "/"), {{"Action", 1}, {"Queue", 4}})));
}

}  // namespace
}  // namespace filibuster::retries
