// Listens on loopback in the place of services without a process, and answers as an Answerer says. One thread serves all services
// of a lane: an answer is made from what is in memory, and a delay blocks nobody.
//
//   auto server = StubServer::start(&board, {{"users", Protocol::kHttp, {21034}}});
//   ...
//   server.value().reset();   // ends all connections
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/rpc/protocol.h"
#include "daemon/stubs/answerer.h"
#include "daemon/stubs/certificate.h"

namespace filibuster::stubs {

struct StubListener {
  std::string service;
  Protocol protocol = Protocol::kHttp;  // kHttp: HTTP/1, HTTP/2 and gRPC
  std::vector<uint16_t> ports;
  // With it, a client that begins with TLS is served, too.
  std::shared_ptr<const Certificate> certificate = nullptr;
};

// Does somebody listen at that port?
using PortIsTaken = std::function<bool(uint16_t port)>;

class StubServer {
 public:
  virtual ~StubServer() = default;
  // Listens at 127.0.0.1, and at ::1 where the machine has it. `answerer` outlives the server. `is_taken` says whether a port
  // that the kernel does not give at first only has what an ended server has left there. Error: a port is taken.
  static Result<std::unique_ptr<StubServer>> start(Answerer* answerer,
                                                   std::vector<StubListener> listeners,
                                                   PortIsTaken is_taken = {});
};

}  // namespace filibuster::stubs
