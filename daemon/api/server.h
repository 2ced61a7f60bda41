// The daemon's HTTP API (docs/api.md): JSON on loopback, every request with the token.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/result.h"
#include "daemon/session/session.h"

namespace filibuster {

class ApiServer {
 public:
  // Called by POST /v1/shutdown, from a thread of the server.
  using Shutdown = std::function<void()>;

  // Binds a free port of 127.0.0.1. `context`: what each session gets; its URL, port and token are
  // filled in here.
  static Result<std::unique_ptr<ApiServer>> start(DaemonContext context, Shutdown shutdown);
  ~ApiServer();  // ends the running session, then the server

  const std::string& url() const;
  const std::string& token() const;

 private:
  struct State;
  explicit ApiServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace filibuster
