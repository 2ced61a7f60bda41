#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "daemon/base/processor_time.h"
#include "tests/unit/search/simulated_application.h"

namespace filibuster::search {
namespace {

// Users asks three services, each of which asks one other, with a retry of the last.
SimulatedApplication application() {
  SimulatedApplication app;
  const std::vector<std::string> faults = {"refused", "status:500", "status:503"};
  for (const char* service : {"a", "b", "c", "leaf"}) app.faults(service, faults);
  for (const char* service : {"a", "b", "c"}) {
    app.service(service, [](Caller& c) { return c.call("leaf"); });
  }
  app.service("users", [](Caller& c) -> std::string {
    c.call("a");
    const bool b = c.call("b") == kOk;
    return b && (c.call("c") == kOk || c.call("c") == kOk) ? kOk : "status:500";
  });
  app.test([](Caller& c) { return c.call("users"); });
  return app;
}

class Store : public testing::Test {
 protected:
  void SetUp() override {
    std::string name =
        (std::filesystem::temp_directory_path() / "filibuster-store-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
    path_ = directory_ / "search.db";
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::unique_ptr<SearchStore> open() {
    auto store = SearchStore::open(path_);
    EXPECT_TRUE(store.ok()) << (store.ok() ? "" : store.error().message);
    return store.ok() ? std::move(store).value() : nullptr;
  }
  std::string open_error() {
    auto store = SearchStore::open(path_);
    return store.ok() ? "" : store.error().message;
  }

  std::filesystem::path directory_, path_;
};

TEST_F(Store, SaysWhatTheSearchAndItsWritesTook) {
  const double before = processor_seconds();
  auto store = open();
  SimulatedApplication app = application();
  auto search = Search::resume({}, store.get());
  Exploration seen;
  explore(app, search.value(), &seen);
  const double all = processor_seconds() - before;
  const SearchSeconds seconds = search.value().seconds();
  EXPECT_GT(seconds.scheduling, 0);
  EXPECT_GT(seconds.reduction, 0);
  EXPECT_GT(store->seconds(), 0);
  EXPECT_LT(seconds.scheduling + seconds.reduction + store->seconds(), all);
}

TEST_F(Store, AnInterruptedSearchResumesAndExploresNothingTwice) {
  for (const bool reduce : {true, false}) {
    SearchOptions options;
    options.reduce = reduce;
    SimulatedApplication app = application();
    const Exploration whole = explore(app, options);
    ASSERT_GT(whole.counts.executed, 30u);
    for (const uint64_t step : {1, 7, 25}) {
      std::filesystem::remove(path_);
      Exploration parts;
      for (int part = 0; part < 10000; ++part) {
        auto store = open();
        auto search = Search::resume(options, store.get());
        ASSERT_TRUE(search.ok()) << search.error().message;
        const size_t before = parts.plans.size();
        explore(app, search.value(), &parts, step);
        if (parts.plans.size() == before) break;
      }
      EXPECT_FALSE(parts.repeated);
      EXPECT_EQ(parts.plans, whole.plans);
      EXPECT_EQ(parts.groups, whole.groups);
      EXPECT_EQ(parts.counts.executed, whole.counts.executed);
      EXPECT_EQ(parts.counts.redundant, whole.counts.redundant);
      EXPECT_EQ(parts.counts.scheduled, whole.counts.scheduled);
      EXPECT_EQ(parts.counts.duplicate, whole.counts.duplicate);
      EXPECT_EQ(parts.counts.open, 0u);
    }
  }
}

TEST_F(Store, CountsSurviveThatFollowFromNothingElse) {
  SearchCounts before;
  {
    auto store = open();
    SearchOptions options;
    options.reduce = false;
    options.max_faults = 3;
    auto search = Search::resume(options, store.get());
    std::vector<ObservedRpc> rpcs;
    for (uint64_t n = 1; n <= 4; ++n) rpcs.push_back({{7, n}, {}, 9, 0, {1}});
    ASSERT_TRUE(search.value().executed(kReference, rpcs).ok());
    while (const auto next = search.value().next()) {
      auto seen = rpcs;
      for (const PlannedFault& fault : next->faults) {
        ObservedRpc& rpc = seen[fault.index.lo - 1];
        rpc.outcome = rpc.injected = fault.fault;
      }
      // The first one is missing where only the second one fails, and comes last when the third one
      // does: the three of them follow from either side.
      if (next->faults.front().index.lo == 2) {
        if (next->faults.size() > 1) seen.push_back(seen.front());
        seen.erase(seen.begin());
      }
      ASSERT_TRUE(search.value().executed(next->id, seen).ok());
    }
    before = search.value().counts();
    EXPECT_GT(before.duplicate, 0u);
    EXPECT_GT(before.beyond_bound, 0u);
  }
  auto store = open();
  auto search = Search::resume({}, store.get());
  EXPECT_EQ(search.value().counts().duplicate, before.duplicate);
  EXPECT_EQ(search.value().counts().beyond_bound, before.beyond_bound);
}

TEST_F(Store, AnExecutionHandedOutAndNotReportedIsHandedOutAgain) {
  SimulatedApplication app = application();
  AbstractExecution handed_out;
  {
    auto store = open();
    auto search = Search::resume({}, store.get());
    ASSERT_TRUE(search.value().executed(kReference, app.run({}).rpcs).ok());
    handed_out = *search.value().next();
  }
  auto store = open();
  auto search = Search::resume({}, store.get());
  const auto again = search.value().next();
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->id, handed_out.id);
  EXPECT_EQ(again->faults, handed_out.faults);
}

TEST_F(Store, AnAbandonedExecutionKeepsItsReason) {
  SimulatedApplication app = application();
  {
    auto store = open();
    auto search = Search::resume({}, store.get());
    ASSERT_TRUE(search.value().executed(kReference, app.run({}).rpcs).ok());
    const auto next = search.value().next();
    ASSERT_TRUE(search.value().abandoned(next->id, "plan not met: b").ok());
    EXPECT_FALSE(search.value().executed(next->id, {}).ok());
  }
  auto store = open();
  auto rows = store->reasons(AbstractState::kAbandoned);
  ASSERT_EQ(rows.value().size(), 1u);
  EXPECT_EQ(rows.value()[0].second, "plan not met: b");
}

TEST_F(Store, KeepsOutcomesDocumentsAndResults) {
  InjectedFault rpc;
  rpc.index = {1, 2};
  rpc.service = "users";
  const ResultRow skipped{
      1, 7, Verdict::kPlanNotMet, 0.25, Skipped{"execution {}", "no body", NoConclusion::kLateBody},
      {}};
  ResultRow failed{2, 9, Verdict::kFailed, 1.5, {}, Execution{}};
  failed.failure->faults = {rpc};
  failed.failure->output = "told";
  failed.failure->mending = {"Catch ", {"`IOError`"}, ": it is not caught.", ": they are not."};
  failed.failure->detail = "password=hunter2";
  OutcomeId refused = 0;
  {
    auto store = open();
    refused = store->outcome("refused").value();
    EXPECT_EQ(store->outcome("").value(), 0u);
    EXPECT_NE(store->outcome("status:503").value(), refused);
    ASSERT_TRUE(store->set_progress({"checkout", false}).ok());
    ASSERT_TRUE(store->save(Saved::kMasks, "[]").ok());
    ASSERT_TRUE(store->put_finding("a+b", {3, true, "counterexamples/3.json"}).ok());
    ASSERT_TRUE(store->put_known_rpc(rpc).ok());
    ASSERT_TRUE(store->note_unordered({3, 4}).ok());
    ASSERT_TRUE(store->note_unordered({3, 4}).ok()) << "noted again";
    ASSERT_TRUE(store->put_result({2, 8, Verdict::kPassed, 0.5, {}, {}}).ok());
    ASSERT_TRUE(store->put_result(skipped).ok());
    ASSERT_TRUE(store->put_result(failed).ok()) << "replaces the row of the same number";
  }
  auto store = open();
  EXPECT_EQ(store->outcome("refused").value(), refused);
  EXPECT_EQ(store->outcome_text(refused), "refused");
  EXPECT_EQ(store->outcome_text(99), "");
  EXPECT_EQ(store->progress()->test, "checkout");
  EXPECT_TRUE(store->progress()->is_interrupted());
  EXPECT_EQ(store->saved(Saved::kMasks).value(), "[]");
  EXPECT_EQ(store->saved(Saved::kFiles).value(), std::nullopt);
  const std::optional<FindingRow> finding = store->finding("a+b").value();
  ASSERT_TRUE(finding.has_value());
  EXPECT_EQ(finding->number, 3u);
  EXPECT_EQ(finding->reproduced, true);
  EXPECT_EQ(finding->counterexample, "counterexamples/3.json");
  EXPECT_FALSE(store->finding("a").value().has_value());
  const std::optional<InjectedFault> known = store->known_rpc({1, 2}).value();
  ASSERT_TRUE(known.has_value());
  EXPECT_EQ(known->index, rpc.index);
  EXPECT_EQ(known->service, "users");
  EXPECT_FALSE(store->known_rpc({2, 1}).value().has_value());
  EXPECT_TRUE(store->is_unordered({3, 4}).value());
  EXPECT_FALSE(store->is_unordered({4, 3}).value());
  const auto results = store->results().value();
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].number, 1u);
  EXPECT_EQ(results[0].id, 7u);
  EXPECT_EQ(results[0].verdict, Verdict::kPlanNotMet);
  EXPECT_EQ(results[0].skipped->what, "execution {}");
  EXPECT_EQ(results[0].skipped->cause, NoConclusion::kLateBody);
  EXPECT_FALSE(results[0].failure.has_value());
  EXPECT_EQ(results[1].verdict, Verdict::kFailed);
  EXPECT_FALSE(results[1].skipped.has_value());
  ASSERT_TRUE(results[1].failure.has_value());
  EXPECT_EQ(results[1].failure->id, 9u);
  EXPECT_EQ(results[1].failure->number, 2u);
  EXPECT_EQ(results[1].failure->faults.at(0).index, rpc.index);
  EXPECT_EQ(results[1].failure->output, "told") << "the newer row";
  EXPECT_EQ(results[1].failure->mending.of, failed.failure->mending.of);
  EXPECT_EQ(to_text(results[1].failure->mending), "Catch `IOError`: it is not caught.");
  EXPECT_EQ(results[1].failure->mending.end_of_several, ": they are not.");
  EXPECT_EQ(results[1].failure->detail, "password=[redacted]") << "nothing secret is kept";
  ASSERT_TRUE(store->forget_search().ok());
  EXPECT_TRUE(store->results().value().empty());
  EXPECT_EQ(store->saved(Saved::kMasks).value(), "[]");
  EXPECT_TRUE(store->progress()->is_interrupted());
}

TEST_F(Store, ASecondProcessIsTurnedAwayWithTheFileAndWhatToDo) {
  auto first = open();
  const std::string error = open_error();
  EXPECT_NE(error.find(path_.string()), std::string::npos) << error;
  EXPECT_NE(error.find("another process holds it"), std::string::npos) << error;
}

TEST_F(Store, ADamagedFileIsRefused) {
  std::ofstream(path_) << std::string(8192, 'x');
  const std::string error = open_error();
  EXPECT_NE(error.find(path_.string()), std::string::npos) << error;
  EXPECT_NE(error.find("damaged"), std::string::npos) << error;
}

TEST_F(Store, ADirectoryThatDoesNotExistIsNamed) {
  path_ = directory_ / "absent" / "search.db";
  EXPECT_NE(open_error().find("check that the directory exists"), std::string::npos);
}

TEST_F(Store, AnotherMajorVersionIsRefused) {
  open().reset();
  const std::string other = std::to_string(SearchStore::kMajor + 1) + ".0";
  const std::string sql = "UPDATE meta SET value = '" + other + "' WHERE key = 'version'";
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(db);
  const std::string error = open_error();
  EXPECT_NE(error.find("version " + other), std::string::npos) << error;
  EXPECT_NE(error.find("move the file away"), std::string::npos) << error;
}

// A file size limit stands for the full disk: writes beyond it fail.
TEST_F(Store, WhenNothingMoreCanBeWrittenTheSearchStandsStillAndLaterGoesOn) {
  SimulatedApplication app = application();
  const Exploration whole = explore(app);
  Exploration parts;
  {
    auto store = open();
    auto search = Search::resume({}, store.get());
    explore(app, search.value(), &parts, 5);
    ASSERT_TRUE(store->flush().ok());
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto ignored = signal(SIGXFSZ, SIG_IGN);
    rlimit small = before;
    small.rlim_cur = 4096;
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    const auto next = search.value().next();
    EXPECT_TRUE(next.has_value());
    auto done = search.value().executed(next->id, app.run(plan_of(*next)).rpcs);
    if (done.ok()) done = store->flush();
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, ignored);
    ASSERT_FALSE(done.ok());
    EXPECT_NE(done.error().message.find(path_.string()), std::string::npos);
    EXPECT_FALSE(search.value().next().has_value());
    EXPECT_FALSE(search.value().health().ok());
  }
  auto store = open();
  auto search = Search::resume({}, store.get());
  ASSERT_TRUE(search.ok()) << search.error().message;
  explore(app, search.value(), &parts);
  EXPECT_EQ(parts.plans, whole.plans);
}

}  // namespace
}  // namespace filibuster::search
