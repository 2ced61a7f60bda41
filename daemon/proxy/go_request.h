// What a Go program asks net/http for, as the probes read it from the program's memory (bpf/go_http.bpf.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace filibuster::proxy {

struct GoRequest {
  std::string method;  // "GET"
  std::string host;    // of the URL, with its port
  std::string target;  // as it is sent: "/movies/1?full=1"
  bool cut = false;    // the target is longer
  bool http2 = false;
  bool operator==(const GoRequest&) const = default;
};

// `bytes`: an fb_request. nullopt: it is none, or it says less than what tells one request from others (a method or a host
// that did not fit).
std::optional<GoRequest> read_go_request(std::string_view bytes);

// A path as Go sends it where the URL does not say how: url.URL.EscapedPath() of net/url.
std::string escaped_path(std::string_view path);

}  // namespace filibuster::proxy
