// The services' way to talk: GET and POST over HTTP, on loopback.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace netflix {

struct Answer {
  int status = 200;
  std::string body;  // JSON
};

// The value of an environment variable, "" if there is none.
std::string environment(const char* name);

// One request to `url` ("http://host:port"); nothing if no answer came within `timeout`.
std::optional<Answer> get(const std::string& url, const std::string& path,
                          std::chrono::milliseconds timeout);
std::optional<Answer> post(const std::string& url, const std::string& path, const std::string& body,
                           std::chrono::milliseconds timeout);

// Answers requests on the port that the command line names until the process is ended.
int serve(int argc, char** argv, std::function<Answer(const std::string& path)> handler);

}  // namespace netflix
