#include "daemon/proxy/go_request.h"

#include <algorithm>
#include <cstring>

#include "bpf/attached.h"

namespace filibuster::proxy {
namespace {

bool is_sent_as_it_is(char c) {
  constexpr std::string_view kMarks = "-_.~$&+,/:;=@";
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         kMarks.find(c) != std::string_view::npos;
}

}  // namespace

std::string escaped_path(std::string_view path) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  if (path == "*") return "*";
  std::string out;
  for (const char c : path) {
    if (is_sent_as_it_is(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<uint8_t>(c);
    out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return out;
}

std::optional<GoRequest> read_go_request(std::string_view bytes) {
  fb_request raw;
  if (bytes.size() < sizeof raw) return std::nullopt;
  std::memcpy(&raw, bytes.data(), sizeof raw);
  if (raw.method_size > FB_METHOD || raw.host_size > FB_HOST) return std::nullopt;
  GoRequest out;
  out.http2 = (raw.flags & FB_OVER_HTTP2) != 0;
  out.cut = raw.path_size > FB_PATH || raw.query_size > FB_QUERY;
  out.method.assign(raw.method, raw.method_size);
  if (out.method.empty()) out.method = "GET";
  out.host.assign(raw.host, raw.host_size);
  const std::string_view path(raw.path, std::min<size_t>(raw.path_size, FB_PATH));
  out.target = (raw.flags & FB_RAW_PATH) != 0 ? std::string(path) : escaped_path(path);
  if (out.target.empty()) out.target = "/";
  if (raw.query_size != 0) {
    out.target += '?';
    out.target.append(raw.query, std::min<size_t>(raw.query_size, FB_QUERY));
  }
  return out;
}

}  // namespace filibuster::proxy
