#include "daemon/proxy/tasks.h"

#include <gtest/gtest.h>

#include <map>

namespace filibuster::proxy {
namespace {

const Task kFirst{7, false, 1}, kSecond{7, false, 2}, kGoroutine{7, true, 1};

class Tasks : public ::testing::Test {
 protected:
  std::string cause(const Task& task) { return table.cause(task, open); }
  void read(const Task& task, uint64_t connection) { table.read(task, connection, open); }

  std::map<uint64_t, std::string> requests;  // the only open one, by connection
  TaskTable::OpenRequest open = [this](uint64_t connection) {
    const auto found = requests.find(connection);
    return found == requests.end() ? std::string() : found->second;
  };
  TaskTable table;
};

TEST_F(Tasks, ATaskWorksForTheOnlyRequestThatItHasRead) {
  requests = {{1, "a"}, {2, "b"}};
  read(kFirst, 1);
  read(kSecond, 2);
  EXPECT_EQ(cause(kFirst), "a");
  EXPECT_EQ(cause(kSecond), "b");
}

TEST_F(Tasks, OfATaskThatHasReadNothingNothingIsKnown) {
  requests = {{1, "a"}};
  read(kFirst, 1);
  EXPECT_EQ(cause(kSecond), "");
  EXPECT_EQ(cause(kGoroutine), "") << "a goroutine is no thread of the same number";
}

TEST_F(Tasks, ARequestThatWasAnsweredCausesNothingMore) {
  requests = {{1, "a"}};
  read(kFirst, 1);
  requests.clear();
  EXPECT_EQ(cause(kFirst), "");
}

TEST_F(Tasks, TheNextRequestOnTheConnectionIsOfWhoeverReadsIt) {
  requests = {{1, "a"}};
  read(kFirst, 1);
  requests = {{1, "b"}};
  EXPECT_EQ(cause(kFirst), "") << "another task may serve it";
  read(kSecond, 1);
  EXPECT_EQ(cause(kFirst), "");
  EXPECT_EQ(cause(kSecond), "b");
  read(kFirst, 1);
  EXPECT_EQ(cause(kFirst), "b");
}

TEST_F(Tasks, ATaskThatReadsARequestWhileAnotherIsOpenProvesNothingAnyMore) {
  requests = {{1, "a"}, {2, "b"}};
  read(kFirst, 1);
  read(kFirst, 2);
  EXPECT_EQ(cause(kFirst), "");
  requests.erase(1);
  EXPECT_EQ(cause(kFirst), "") << "b may be served by another task";
  table.closed(1);
  table.closed(2);
  requests = {{3, "c"}};
  read(kFirst, 3);
  EXPECT_EQ(cause(kFirst), "") << "it is an event loop for as long as it lives";
}

TEST_F(Tasks, ATaskThatReadsOneRequestAfterTheOtherWorksForEach) {
  for (uint64_t connection : {1, 2, 3}) {
    requests = {{connection, "r" + std::to_string(connection)}};
    read(kFirst, connection);
    EXPECT_EQ(cause(kFirst), requests[connection]);
  }
}

TEST_F(Tasks, WhereSeveralRequestsAreOpenOnOneConnectionItIsNotKnown) {
  requests = {{1, ""}};  // HTTP/2
  read(kFirst, 1);
  EXPECT_EQ(cause(kFirst), "");
  requests = {{1, "a"}};
  EXPECT_EQ(cause(kFirst), "") << "the task may have read the other one";
}

TEST_F(Tasks, AnEndedProcessOrConnectionIsForgotten) {
  requests = {{1, "a"}, {2, "b"}};
  read(kFirst, 1);
  read(kSecond, 2);
  table.closed(1);
  EXPECT_EQ(cause(kFirst), "");
  EXPECT_EQ(cause(kSecond), "b");
  table.exited(8);
  EXPECT_EQ(cause(kSecond), "b");
  table.exited(7);
  EXPECT_EQ(cause(kSecond), "");
  EXPECT_EQ(table.size(), 0u);
}

TEST_F(Tasks, AfterMissingEventsNothingIsKnown) {
  requests = {{1, "a"}};
  read(kFirst, 1);
  table.clear();
  EXPECT_EQ(cause(kFirst), "");
}

TEST_F(Tasks, TheTableIsBounded) {
  requests = {{1, "a"}};
  read(kFirst, 1);
  for (uint64_t i = 0; i < 2 * TaskTable::kMostTasks; ++i) read({9, true, i}, 1000 + i);
  EXPECT_LE(table.size(), TaskTable::kMostTasks);
  EXPECT_EQ(cause(kFirst), "a") << "who works for an open request is remembered";
}

}  // namespace
}  // namespace filibuster::proxy
