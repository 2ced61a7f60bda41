// Where the connections to the API wait for their requests: all of them in one thread. A connection gets a thread
// when the head of its request is there, and of the kind that the head asks for, so that whoever sends nothing, or a
// byte now and then, holds no thread, and those who do not have the token hold none that the others need.
//
// What waits is bounded, in number and in time. If strangers (who have not shown the token) are too many, the one that
// has waited longest is closed: whoever has something to ask sends it as soon as it is connected.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "core/result.h"
#include "daemon/api/connection.h"
#include "daemon/api/socket_owners.h"
#include "daemon/api/thread_group.h"

namespace filibuster {

// Kinds of requests that have threads of their own.
enum class RequestKind : uint8_t {
  kStranger,  // has no token: the page's frame, or a refusal
  kQuestion,  // of a test, or of a command: answered at once
  kProgress,  // of the command: waits for news
  kPage,      // of the browser: waits for news, or is long
};

class WaitingRoom {
 public:
  struct Options {
    // What a whole head asks for.
    std::function<RequestKind(std::string_view head)> kind;
    // Reads the request and answers it. False: the connection is to be closed.
    std::function<bool(Connection*, RequestKind)> serve;
    // Of another user than this process's and root: may it connect?
    std::function<bool(uid_t)> admits;
    std::function<void(const std::string&)> warn;  // at most once
  };
  // Listens at a free port of 127.0.0.1.
  static Result<std::unique_ptr<WaitingRoom>> open(Options options);
  // Closes what waits; returns when what was asked is answered.
  ~WaitingRoom();

  uint16_t port() const { return port_; }

 private:
  using Line = std::map<uint64_t, std::unique_ptr<Connection>>;  // in the order of their arrival

  explicit WaitingRoom(Options options);
  Result<void> listen();
  bool check_owners();
  void run();
  void accept();
  bool is_admitted(int socket);
  bool make_room();
  void enter(std::unique_ptr<Connection> connection);
  void take_back();
  void read(uint64_t number);
  void give_thread(std::unique_ptr<Connection> connection);
  void watch_listener(bool watched);
  void close_the_late();
  int next_deadline_ms();
  std::array<Line*, 3> lines() { return {&strangers_, &leaving_, &known_}; }
  Line* line_of(uint64_t number);

  const Options options_;
  uint16_t port_ = 0;
  UniqueFd listener_, epoll_, wake_;
  SocketOwners owners_;
  bool knows_owners_ = false;
  bool is_listening_ = true;
  // All of a line may wait for the same time, so its first one is the first that is late. A crowd is not walked through at each
  // byte of it.
  Line strangers_, known_, leaving_;
  uint64_t next_ = 0;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Connection>> back_;  // answered, and waiting again
  std::atomic<bool> stopped_{false};
  std::array<std::unique_ptr<ThreadGroup>, 4> threads_;  // of each RequestKind
  std::thread thread_;
};

}  // namespace filibuster
