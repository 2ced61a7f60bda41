// What shows that a service serves: a socket that accepts or listens, an answer, a text in its log.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace filibuster {

// `host` "": at loopback, IPv4 first.
bool accepts(const std::string& host, uint16_t port);
// True for any answer with a status below 500. Only the beginning of the status line is read.
bool answers_http(const std::string& host, uint16_t port, const std::string& path);
// Does the process, or one that it started, listen at the port? A connection would meet the proxy of an
// attached service.
bool listens_at(pid_t pid, uint16_t port);
// What the process, and those that it started, listen at: "port 5001", "ports 5001 and 9090"; "": nothing.
std::string where_it_listens(pid_t pid);
bool file_contains(const std::string& path, const std::string& text);

}  // namespace filibuster
