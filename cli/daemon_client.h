// The daemon's HTTP API (docs/api.md), over loopback, with its token.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/result.h"

namespace filibuster::cli {

struct Answer {
  int status = 0;
  std::string body;
};

class DaemonClient {
 public:
  // `url` = "http://127.0.0.1:PORT".
  DaemonClient(std::string url, std::string token)
      : url_(std::move(url)), token_(std::move(token)) {}

  // An Error means that no answer came at all. `timeout` in seconds covers connecting and each
  // read.
  Result<Answer> get(const std::string& path, int timeout = 10) const;
  Result<Answer> post(const std::string& path, const std::string& json, int timeout = 10) const;

 private:
  std::string url_, token_;
};

// "&service=a%20b", or "" if the value is empty.
std::string query_argument(const char* name, const std::string& value);

}  // namespace filibuster::cli
