// What both services share.
#pragma once

#include <httplib.h>

#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

namespace ledger {

constexpr const char* kAccounts[] = {"A", "B", "C"};
constexpr long kBegin = 100;  // what each account has after a reset

inline std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// A balance, in decimal digits; nothing for anything else.
inline std::optional<long> parse_balance(const std::string& text) {
  if (text.empty() || text.size() > 18 || text.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  return std::stol(text);
}

inline void answer(httplib::Response& response, int status, const std::string& text = "") {
  response.status = status;
  if (status != 204) response.set_content(text, "text/plain");
}

// Serves on the port that the command line names until the process is ended.
inline int serve(int argc, char** argv, httplib::Server& server) {
  if (argc != 2) {
    std::cerr << "usage: " << argv[0] << " PORT\n";
    return 2;
  }
  server.set_tcp_nodelay(true);
  server.set_keep_alive_max_count(1'000'000);
  // A kept connection and a request that waits for an account take a thread each.
  server.new_task_queue = [] { return new httplib::ThreadPool(64); };
  server.Get("/health",
             [](const httplib::Request&, httplib::Response& response) { response.status = 204; });
  return server.listen("127.0.0.1", std::atoi(argv[1])) ? 0 : 1;
}

}  // namespace ledger
