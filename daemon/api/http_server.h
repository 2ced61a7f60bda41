// cpp-httplib's parser, routes and answers, for one request of a connection at a time. It neither listens nor has
// threads: daemon/api/waiting_room.h does.
#pragma once

#include <httplib.h>

#include <chrono>

#include "daemon/api/connection.h"

namespace filibuster {

class HttpServer : public httplib::Server {
 public:
  HttpServer();
  // Reads one request, whose head is in `connection`, and answers it; all of it within `limit`. False: the connection
  // is to be closed.
  bool serve(Connection* connection, bool is_last, std::chrono::milliseconds limit);
};

}  // namespace filibuster
