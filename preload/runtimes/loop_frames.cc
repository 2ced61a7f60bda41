#include "preload/runtimes/loop_frames.h"

namespace filibuster::preload {
namespace {

// Beginnings of base names.
constexpr std::string_view kLoopModules[] = {"libuv.so", "libevent", "libev.so", "libglib-2"};

// Node's own files are named by what they begin with.
constexpr std::string_view kLoopFilesOfNode[] = {"node:internal/process/", "node:internal/timers",
                                                 "node:internal/async_hooks", "node:async_hooks",
                                                 "node:internal/promise_hooks"};

// Parts of paths.
constexpr std::string_view kLoopFiles[] = {
    "/asyncio/",          "/concurrent/futures/",  "/multiprocessing/pool.py",
    "/threading.py",      "/selectors.py",         "/anyio/_core/",
    "/anyio/_backends/",  "/trio/_core/",          "/uvloop/",
    "/tornado/ioloop.py", "/tornado/platform/",    "/twisted/internet/",
    "/gevent/hub.py",     "/gevent/_hub_",         "/gevent/greenlet.py",
    "/gevent/pool.py",    "/gevent/threadpool",    "/eventlet/hubs/",
    "/eventlet/tpool.py", "/eventlet/greenpool",   "/eventlet/greenthread.py",
    "/asgiref/sync.py",   "/pytest_asyncio/",      "/async/scheduler",
    "/eventmachine",      "/concurrent/executor/",
};

constexpr std::string_view kLoopClasses[] = {
    "java.lang.Thread",
    "java.lang.VirtualThread",
    "java.util.TimerThread",
    "java.util.concurrent.",
    "jdk.internal.net.http.HttpClientImpl$SelectorManager",
    "io.netty.channel.nio.NioEventLoop",
    "io.netty.channel.epoll.EpollEventLoop",
    "io.netty.channel.SingleThreadEventLoop",
    "io.netty.util.concurrent.",
    "reactor.core.scheduler.",
    "kotlinx.coroutines.scheduling.",
    "kotlinx.coroutines.DispatchedTask",
    "kotlinx.coroutines.EventLoop",
    "scala.concurrent.",
    "akka.dispatch.",
    "io.reactivex.internal.schedulers.",
    "io.vertx.core.impl.",
    "org.apache.tomcat.util.threads.",
    "org.eclipse.jetty.util.thread.",
    "org.jboss.threads.",
};

bool begins_with_one_of(std::string_view text, const auto& beginnings) {
  for (std::string_view begin : beginnings) {
    if (text.starts_with(begin)) return true;
  }
  return false;
}

bool is_loop_file(std::string_view path) {
  for (std::string_view part : kLoopFiles) {
    if (path.find(part) != std::string_view::npos) return true;
  }
  return begins_with_one_of(path, kLoopFilesOfNode);
}

}  // namespace

bool is_loop_frame(FrameKind kind, std::string_view name) {
  switch (kind) {
    case FrameKind::kModule:
      return begins_with_one_of(name.substr(name.rfind('/') + 1), kLoopModules);
    case FrameKind::kFile:
      return is_loop_file(name);
    case FrameKind::kClass:
      return begins_with_one_of(name, kLoopClasses);
  }
  return false;
}

}  // namespace filibuster::preload
