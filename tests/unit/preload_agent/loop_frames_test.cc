// Frames of event loops and of pools of threads name no call site.
#include "preload/runtimes/loop_frames.h"

#include <gtest/gtest.h>

#include <string>

#include "preload/runtimes/frame_filter.h"
#include "preload/runtimes/task.h"

namespace filibuster::preload {
namespace {

constexpr std::string_view kLoop = "/usr/lib/python3.11/asyncio/selector_events.py:1071 write\n";
constexpr std::string_view kPool = "/usr/lib/python3.11/concurrent/futures/thread.py:58 run\n";
constexpr std::string_view kClient =
    "/usr/lib/python3/dist-packages/aiohttp/client.py:559 _request\n";

std::string kept(std::string_view text) {
  char buffer[4096];
  CapturedStack stack{};
  if (!site_stack(intern_site(text), buffer, sizeof buffer, &stack)) return "not known";
  return {stack.text, stack.text_size};
}

TEST(LoopFrames, AreTheseFilesModulesAndClasses) {
  for (const char* file :
       {"/usr/lib/python3.11/threading.py", "/usr/lib/python3.11/asyncio/base_events.py",
        "/venv/lib/python3.12/site-packages/anyio/_backends/_asyncio.py",
        "node:internal/process/task_queues", "node:internal/timers"})
    EXPECT_TRUE(is_loop_frame(FrameKind::kFile, file)) << file;
  for (const char* file : {"node:_http_client", "node:net", "/usr/lib/python3.11/http/client.py",
                           "/usr/lib/python3/dist-packages/aiohttp/client.py"})
    EXPECT_FALSE(is_loop_frame(FrameKind::kFile, file)) << file;
  EXPECT_TRUE(is_loop_frame(FrameKind::kModule, "/usr/lib/x86_64-linux-gnu/libuv.so.1"));
  EXPECT_TRUE(is_loop_frame(FrameKind::kModule, "libevent-2.1.so.7"));
  EXPECT_FALSE(is_loop_frame(FrameKind::kModule, "/usr/lib/libcurl.so.4"));
  EXPECT_TRUE(is_loop_frame(FrameKind::kClass, "java.util.concurrent.ThreadPoolExecutor$Worker"));
  EXPECT_FALSE(is_loop_frame(FrameKind::kClass, "java.net.http.HttpRequest"));
}

TEST(LoopFrames, AreNotKeptWhereThoseOfLibrariesAre) {
  EXPECT_FALSE(is_kept(FrameKind::kFile, "/usr/lib/python3.11/threading.py", true));
  EXPECT_TRUE(is_kept(FrameKind::kFile, "/usr/lib/python3.11/http/client.py", true));
  EXPECT_FALSE(is_kept(FrameKind::kFile, "/usr/lib/python3.11/http/client.py", false));
  EXPECT_FALSE(is_kept(FrameKind::kModule, "/usr/lib/libuv.so.1", true));
  EXPECT_EQ(kept(std::string(kLoop) + std::string(kClient) + std::string(kPool)),
            "F " + std::string(kClient));
}

TEST(LoopFrames, AloneTheyAreNoStack) {
  EXPECT_EQ(kept(std::string(kLoop) + std::string(kPool)), "");
}

TEST(LoopFrames, FilesOfTheProgramCountWhateverTheirNames) {
  EXPECT_TRUE(is_kept(FrameKind::kFile, "/srv/shop/threading.py", false));
  EXPECT_TRUE(is_kept(FrameKind::kFile, "/srv/shop/asyncio/run.py", false));
}

}  // namespace
}  // namespace filibuster::preload
