// Call stacks that a runtime's helper took: interned by text, filtered as the library's own.
#include <gtest/gtest.h>

#include <string>

#include "preload/runtimes/frame_filter.h"
#include "preload/runtimes/task.h"

namespace filibuster::preload {
namespace {

struct Got {
  bool known = false;
  std::string text;
  Hash128 hash;
  bool of_libraries = false;
};
Got stack_of(uint64_t site) {
  char buffer[4096];
  CapturedStack stack{};
  Got got;
  got.known = site_stack(site, buffer, sizeof buffer, &stack);
  if (got.known) got.text.assign(stack.text, stack.text_size);
  got.hash = stack.hash;
  got.of_libraries = stack.of_libraries;
  return got;
}

TEST(Site, IsTheSameNumberForTheSameText) {
  const uint64_t a = intern_site("app/a.js:3 f\napp/b.js:9 g");
  EXPECT_NE(a, 0u);
  EXPECT_EQ(intern_site("app/a.js:3 f\napp/b.js:9 g"), a);
  EXPECT_NE(intern_site("app/a.js:4 f\napp/b.js:9 g"), a);
}

TEST(Site, HashesFramesAsTheReadersDo) {
  const Got got = stack_of(intern_site("/srv/one/app/a.js:31 f"));
  ASSERT_TRUE(got.known);
  EXPECT_EQ(got.text, "F /srv/one/app/a.js:31 f\n");
  EXPECT_EQ(got.hash, frame_hash("/srv/one/app/a.js", 31, "f"));
  // Another machine, another prefix: the same index.
  EXPECT_EQ(stack_of(intern_site("/opt/two/app/a.js:31 f")).hash, got.hash);
}

TEST(Site, LeavesLibrariesOutUnlessNothingElseIsThere) {
  const std::string library = "/usr/lib/python3/dist-packages/requests/api.py:59 request";
  EXPECT_EQ(stack_of(intern_site(library + "\napp.py:1 f")).text, "F app.py:1 f\n");
  EXPECT_FALSE(stack_of(intern_site(library + "\napp.py:1 f")).of_libraries);
  EXPECT_EQ(stack_of(intern_site(library)).text, "F " + library + "\n");
  // A connect is not told apart by such a stack.
  EXPECT_TRUE(stack_of(intern_site(library)).of_libraries);
}

TEST(Site, ReadsNamesWithColonsAndBlanks) {
  const Got got = stack_of(intern_site("C:/my app:x.js:12 Object.get [as f]"));
  EXPECT_EQ(got.hash, frame_hash("C:/my app:x.js", 12, "Object.get [as f]"));
  EXPECT_EQ(stack_of(intern_site("native")).hash, frame_hash("native", 0, ""));
}

TEST(Site, IsUnknownWhereNothingWasInterned) {
  EXPECT_FALSE(stack_of(0).known);
  EXPECT_FALSE(stack_of(123456789).known);
  EXPECT_EQ(intern_site(""), 0u);
}

TEST(Task, IsPutBackWhenItEnds) {
  EXPECT_EQ(current_task().state, TaskContext::State::kUnknown);
  TaskContext task;
  task.state = TaskContext::State::kRequest;
  task.cause.rpc = 7;
  const TaskContext before = swap_task(task);
  EXPECT_EQ(before.state, TaskContext::State::kUnknown);
  EXPECT_EQ(current_task().cause.rpc, 7u);
  EXPECT_EQ(inheritable_task().cause.rpc, 7u);
  EXPECT_EQ(swap_task(before).cause.rpc, 7u);
  EXPECT_EQ(current_task().state, TaskContext::State::kUnknown);
}

}  // namespace
}  // namespace filibuster::preload
