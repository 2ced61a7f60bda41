// FastCGI: how a web server asks the workers of a program for an answer (nginx and Apache ask php-fpm). That is no RPC: server
// and workers are one service. A worker's connection tells it which incoming request it works for, since a web server passes our
// field on as the parameter HTTP_X_FILIBUSTER.
#pragma once

#include <string_view>

#include "preload/stream/protocol.h"

namespace filibuster::preload {

Recognised is_fastcgi_of_client(std::string_view first);
void begin_fastcgi(Connection& c, Pieces pieces, size_t size);
Joined joins_fastcgi(std::string_view first, NotInterposedReason* reason);

}  // namespace filibuster::preload
